/** A template starts a job: a parameterized one by hand, a periodic one by time. What the job runs follows from the template as the entry finds it. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { defineCommand, put, replace, TimeMs } from '../define.ts'
import {
  JobId,
  NamespaceName,
  Priority,
  RowId,
  workloadsVersion,
  type EvaluationRow,
} from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import {
  dispatchedSpec,
  launchedId,
  launchedSpec,
  payloadLengthMax,
  tokenLengthMax,
} from './dispatch-model.ts'
import { evaluationOf } from './job-evaluation-model.ts'
import { isLaunched, isTemplate } from './kind-model.ts'
import { jobByToken, jobOf, newestVersionOf } from './queries.ts'
import { countsFor, noChildren, statusOf, withChildren } from './state-model.ts'
import type { StoredSpec } from './stored-model.ts'
import { jobs, jobVersions, type JobParent, type JobRow } from './table.ts'

const Meta = Type.Array(Type.Tuple([Type.String(), Type.String()]), { maxItems: 1_024 })

export type LaunchOutcome =
  | {
      readonly type: 'launched'
      readonly row: JobRow
      /** Null: a dispatched job that is periodic runs nothing itself. */
      readonly evaluation: EvaluationRow | null
    }
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
    /** Another one than the template has. Since `operatorOptionsVersion`. */
    priority: Type.Optional(Priority),
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
    const { priority = parent.priority } = args
    const spec = dispatchedSpec(version.spec, id, meta, args.priority)
    const { row, changes } = startedJob(
      { ...parent, priority },
      { spec, by, payload, nowMs, index },
    )
    const evaluation = row.template
      ? null
      : evaluationOf(row, { id: evaluationId, triggeredBy: 'job-register' }, { index, nowMs })
    if (evaluation !== null) changes.push(put(evaluations, evaluation))
    const counted = withChildren(parent, [{ before: null, after: row }], index)
    return {
      changes: [...changes, replace(jobs, parent, counted)],
      outcome: { type: 'launched', row, evaluation },
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
    /** By hand, or by a leader whose clock is behind the last launch: that one does not matter. */
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
    const dispatched = parent.parent?.dispatched === true
    const by = { id: parent.id, createIndex: parent.createIndex, dispatched, token: '' }
    const spec = launchedSpec(version.spec, id)
    const payload = version.payload ?? ''
    const { row, changes } = startedJob(parent, { spec, by, payload, nowMs, index })
    const evaluation = evaluationOf(
      row,
      { id: evaluationId, triggeredBy: 'periodic-job' },
      { index, nowMs },
    )
    const counted = withChildren(told, [{ before: null, after: row }], index)
    return {
      changes: [...changes, put(evaluations, evaluation), replace(jobs, parent, counted)],
      outcome: { type: 'launched', row, evaluation },
    }
  },
})

type Start = {
  readonly spec: StoredSpec
  readonly by: JobParent
  /** '': none. */
  readonly payload: string
  readonly nowMs: number
  readonly index: number
}

/** What is not a template has an open evaluation. */
function startedJob(
  { namespace, type, priority }: JobRow,
  { spec, by, payload, nowMs, index }: Start,
): { readonly row: JobRow; readonly changes: Change[] } {
  const id = spec.ID
  const template = isTemplate(spec, by.dispatched)
  const groups = countsFor(
    spec.TaskGroups.map(({ Name }) => Name),
    null,
  )
  const kind = { type, stop: false, template }
  const row: JobRow = {
    namespace,
    id,
    priority,
    version: 0,
    ...kind,
    status: statusOf(kind, { live: false, openEvaluations: true }),
    groups,
    parent: by,
    ...(template && { children: noChildren }),
    ...(isLaunched(spec, by.dispatched) && { periodic: { launchedMs: nowMs } }),
    submitMs: nowMs,
    jobModifyIndex: index,
    createIndex: index,
    modifyIndex: index,
  }
  const version = {
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
  }
  return { row, changes: [put(jobs, row), put(jobVersions, version)] }
}
