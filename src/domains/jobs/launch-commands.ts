/** A template starts a job: a parameterized one by hand, a periodic one by time. What the job runs follows from the template as the entry finds it. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { defineCommand, put, replace, TimeMs } from '../define.ts'
import {
  JobId,
  NamespaceName,
  RowId,
  workloadsVersion,
  type EvaluationRow,
} from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import { childSpec, launchedId, payloadLengthMax, tokenLengthMax } from './dispatch-model.ts'
import { evaluationOf } from './job-evaluation-model.ts'
import { jobByToken, jobOf, newestVersionOf } from './queries.ts'
import { countsFor, noChildren, withChildren } from './state-model.ts'
import { jobs, jobVersions, type JobParent, type JobRow, type JobVersionRow } from './table.ts'

const Meta = Type.Array(Type.Tuple([Type.String(), Type.String()]), { maxItems: 1_024 })

export type LaunchOutcome =
  | { readonly type: 'launched'; readonly row: JobRow; readonly evaluation: EvaluationRow }
  /** A dispatch with its token did so before. */
  | { readonly type: 'repeated'; readonly row: JobRow }
  /** There is a job of the id already. */
  | { readonly type: 'exists' }
  /** One that it started before still runs, or waits to. */
  | { readonly type: 'overlaps' }
  /** The template is another one now, stopped, or gone. */
  | { readonly type: 'changed' }

export const dispatchJob = defineCommand({
  type: 'jobs.dispatch',
  since: workloadsVersion,
  args: Type.Object({
    namespace: NamespaceName,
    parentId: JobId,
    /** Of the template that the proposer looked at. */
    parentModifyIndex: Count,
    id: JobId,
    meta: Meta,
    /** In base64; '': none. */
    payload: Type.String({ maxLength: payloadLengthMax }),
    token: Type.String({ maxLength: tokenLengthMax }),
    evaluationId: RowId,
    nowMs: TimeMs,
  }),
  load: async (reader, { namespace, parentId, id, token }) => {
    const parent = jobOf(reader, namespace, parentId)
    return {
      parent,
      version: parent === null ? null : newestVersionOf(reader, parent),
      other: jobOf(reader, namespace, id),
      repeated: parent === null || token === '' ? null : await jobByToken(reader, parent, token),
    }
  },
  apply: ({ index }, args, { parent, version, other, repeated }): Applied<LaunchOutcome> => {
    const none = (outcome: LaunchOutcome) => ({ changes: [], outcome })
    if (parent === null || version === null || parent.stop) return none({ type: 'changed' })
    if (repeated !== null) return none({ type: 'repeated', row: repeated })
    if (parent.jobModifyIndex !== args.parentModifyIndex) return none({ type: 'changed' })
    if (other !== null) return none({ type: 'exists' })
    const { id, meta, payload, token, evaluationId, nowMs } = args
    const by = { id: parent.id, createIndex: parent.createIndex, dispatched: true, token }
    const started = startedJob(parent, version, { id, meta, by, nowMs, index })
    const evaluation = evaluationOf(
      started.row,
      { id: evaluationId, triggeredBy: 'job-register' },
      { index, nowMs },
    )
    return {
      changes: [
        ...started.changes(payload),
        put(evaluations, evaluation),
        replace(jobs, parent, withChildren(parent, [{ before: null, after: started.row }], index)),
      ],
      outcome: { type: 'launched', row: started.row, evaluation },
    }
  },
})

export const launchJob = defineCommand({
  type: 'jobs.launch',
  since: workloadsVersion,
  args: Type.Object({
    namespace: NamespaceName,
    parentId: JobId,
    /** Of the template that the proposer looked at. */
    parentModifyIndex: Count,
    /** The time that its id has. */
    launchMs: TimeMs,
    /** By hand: the schedule does not matter. */
    forced: Type.Boolean(),
    evaluationId: RowId,
    nowMs: TimeMs,
  }),
  load: (reader, { namespace, parentId, launchMs }) => {
    const parent = jobOf(reader, namespace, parentId)
    const id = launchedId(parentId, launchMs)
    return {
      parent,
      version: parent === null ? null : newestVersionOf(reader, parent),
      id,
      other: jobOf(reader, namespace, id),
    }
  },
  apply: ({ index }, args, { parent, version, id, other }): Applied<LaunchOutcome> => {
    const { forced, launchMs, evaluationId, nowMs } = args
    const changed = { changes: [], outcome: { type: 'changed' } } as const
    if (parent === null || version === null || parent.stop) return changed
    if (parent.periodic === undefined || parent.jobModifyIndex !== args.parentModifyIndex) {
      return changed
    }
    const { launchedMs } = parent.periodic
    if (!forced && launchMs <= launchedMs) return changed
    // What was missed before now is not made up for.
    const told: JobRow = {
      ...parent,
      periodic: { launchedMs: Math.max(launchedMs, launchMs, nowMs) },
      modifyIndex: index,
    }
    const running = parent.children ?? noChildren
    const overlaps =
      version.spec.Periodic?.ProhibitOverlap === true && running.pending + running.running > 0
    if (overlaps || other !== null) {
      return {
        changes: forced ? [] : [replace(jobs, parent, told)],
        outcome: { type: overlaps ? 'overlaps' : 'exists' },
      }
    }
    const by = { id: parent.id, createIndex: parent.createIndex, dispatched: false, token: '' }
    const started = startedJob(parent, version, { id, meta: [], by, nowMs, index })
    const evaluation = evaluationOf(
      started.row,
      { id: evaluationId, triggeredBy: 'periodic-job' },
      { index, nowMs },
    )
    return {
      changes: [
        ...started.changes(''),
        put(evaluations, evaluation),
        replace(jobs, parent, withChildren(told, [{ before: null, after: started.row }], index)),
      ],
      outcome: { type: 'launched', row: started.row, evaluation },
    }
  },
})

type Start = {
  readonly id: string
  readonly meta: readonly (readonly [string, string])[]
  readonly by: JobParent
  readonly nowMs: number
  readonly index: number
}

/** Its evaluation is open. */
function startedJob(
  parent: JobRow,
  { spec: template }: JobVersionRow,
  { id, meta, by, nowMs, index }: Start,
) {
  const { namespace, type, priority } = parent
  const spec = childSpec(template, id, meta)
  const row: JobRow = {
    namespace,
    id,
    type,
    priority,
    version: 0,
    stop: false,
    template: false,
    status: 'pending',
    groups: countsFor(
      spec.TaskGroups.map(({ Name }) => Name),
      null,
    ),
    parent: by,
    submitMs: nowMs,
    jobModifyIndex: index,
    createIndex: index,
    modifyIndex: index,
  }
  const changes = (payload: string): Change[] => [
    put(jobs, row),
    put(jobVersions, {
      namespace,
      id,
      jobCreateIndex: index,
      version: 0,
      spec,
      stop: false,
      submitMs: nowMs,
      ...(payload !== '' && { payload }),
      createIndex: index,
      modifyIndex: index,
    }),
  ]
  return { row, changes }
}
