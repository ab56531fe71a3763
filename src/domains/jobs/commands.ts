/**
 * Changes of registered jobs. Each leads to an evaluation, whose id the proposer chose: what has to run and what has to stop is
 * worked out by a scheduler worker.
 */
import { isDeepStrictEqual } from 'node:util'
import { Type, type Static } from 'typebox'
import type { Applied, Change, Reader } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { commandsByType, defineCommand, put, removeRow, replace, TimeMs } from '../define.ts'
import { JobType } from '../evaluations/job-type-model.ts'
import {
  GroupName,
  JobId,
  NamespaceName,
  Priority,
  RowId,
  settledWorkloadsVersion,
  workloadsVersion,
  type EvaluationRow,
} from '../evaluations/model.ts'
import { openEvaluationsOfJob } from '../evaluations/queries.ts'
import { evaluations } from '../evaluations/table.ts'
import { namespaces } from '../namespaces/table.ts'
import { collectJobs } from './collect-commands.ts'
import { evaluationOf } from './job-evaluation-model.ts'
import { dispatchJob, launchJob } from './launch-commands.ts'
import { jobOf, newestVersionOf, parentOf, scalingsOf } from './queries.ts'
import { scaleJob } from './scale-commands.ts'
import { scaledMember } from './scaling-model.ts'
import { countsFor, groupsCountedMax, noChildren } from './state-model.ts'
import { isLaunched, isTemplate, kindOf, type JobKind } from './kind-model.ts'
import { StoredSpec } from './stored-model.ts'
import { jobs, jobVersions, scalings, type JobRow } from './table.ts'
import { made, parentChanges, scaledBefore, versionRow, withStatus } from './version-commands.ts'

/** Blocked evaluations of one job that an entry cancels. A job has one; more come of workers that were cut off. */
const canceledMax = 64

/** Of the evaluation, where that is another one than the job's. Since `operatorOptionsVersion`. */
const evalPriority = Type.Optional(Priority)

const Register = Type.Object({
  namespace: NamespaceName,
  id: JobId,
  /** What of the specification its row has. */
  type: JobType,
  priority: Priority,
  groups: Type.Array(GroupName, { maxItems: groupsCountedMax }),
  spec: StoredSpec,
  evaluationId: RowId,
  /** The job's `jobModifyIndex` that is expected, 0: there is no such job; null: whatever it is. */
  enforceIndex: Type.Union([Type.Null(), Count]),
  evalPriority,
  nowMs: TimeMs,
})
export type RegisterJob = Static<typeof Register>

export type RegisterOutcome =
  /** A template has no evaluation: it runs nothing itself. */
  | { readonly type: 'registered'; readonly row: JobRow; readonly evaluation: EvaluationRow | null }
  /** What it is now: a job does not become a template, nor a template a job. */
  | { readonly type: 'otherKind'; readonly kind: JobKind }
  /** `jobModifyIndex`: as it is; 0: there is none. */
  | { readonly type: 'conflict'; readonly jobModifyIndex: number }
  | { readonly type: 'unknownNamespace' }

export const registerJob = defineCommand({
  type: 'jobs.register',
  since: settledWorkloadsVersion,
  args: Register,
  load: (reader, { namespace, id }) => {
    const before = jobOf(reader, namespace, id)
    return {
      before,
      parent: before === null ? null : parentOf(reader, before),
      version: before === null ? null : newestVersionOf(reader, before),
      hasNamespace: reader.get(namespaces, [namespace]) !== undefined,
    }
  },
  apply: ({ index }, args, found): Applied<RegisterOutcome> => {
    const { before, version, hasNamespace, parent } = found
    if (!hasNamespace) return { changes: [], outcome: { type: 'unknownNamespace' } }
    const { namespace, id, type, priority, spec, nowMs, enforceIndex } = args
    const jobModifyIndex = before?.jobModifyIndex ?? 0
    if (enforceIndex !== null && enforceIndex !== jobModifyIndex) {
      return { changes: [], outcome: { type: 'conflict', jobModifyIndex } }
    }
    const kind = version === null ? null : kindOf(version.spec)
    if (kind !== null && kind !== kindOf(spec)) {
      return { changes: [], outcome: { type: 'otherKind', kind } }
    }
    const dispatched = before?.parent?.dispatched === true
    const template = isTemplate(spec, dispatched)
    const isSame =
      before !== null && !before.stop && version !== null && isDeepStrictEqual(version.spec, spec)
    const created: JobRow = {
      namespace,
      id,
      type,
      priority,
      version: before === null ? 0 : before.version + 1,
      stop: false,
      template,
      status: 'pending',
      groups: countsFor(args.groups, before),
      ...(before?.parent !== undefined && { parent: before.parent }),
      ...(template && { children: before?.children ?? noChildren }),
      ...scaledMember(spec, scaledBefore(before, version), index),
      ...(isLaunched(spec, dispatched) && { periodic: { launchedMs: nowMs } }),
      submitMs: nowMs,
      jobModifyIndex: index,
      createIndex: before?.createIndex ?? index,
      modifyIndex: index,
      ...(before?.stableVersion !== undefined && { stableVersion: before.stableVersion }),
    }
    const settled = isSame ? before : created
    const row = withStatus(settled, { openEvaluations: true, index })
    const evaluation = template
      ? null
      : evaluationOf(row, made(args, 'job-register'), { index, nowMs: args.nowMs })
    const changes: Change[] = evaluation === null ? [] : [put(evaluations, evaluation)]
    if (before === null) changes.push(put(jobs, row))
    else if (row !== before) changes.push(replace(jobs, before, row))
    if (!isSame) changes.push(put(jobVersions, versionRow(row, { spec, before: version, index })))
    changes.push(...parentChanges(parent, { before, after: row }, index))
    return { changes, outcome: { type: 'registered', row, evaluation } }
  },
})

const Named = { namespace: NamespaceName, id: JobId, evaluationId: RowId, nowMs: TimeMs }

export type DeregisterOutcome =
  | {
      readonly type: 'deregistered'
      readonly jobModifyIndex: number
      readonly evaluation: EvaluationRow | null
    }
  | { readonly type: 'unknown' }

/** Purged, it is forgotten at once; its allocations are stopped all the same. */
export const deregisterJob = defineCommand({
  type: 'jobs.deregister',
  since: workloadsVersion,
  args: Type.Object({
    ...Named,
    purge: Type.Boolean(),
    /** Its tasks end without their delays. Since `operatorOptionsVersion`. */
    skipsDelay: Type.Optional(Type.Literal(true)),
    evalPriority,
  }),
  load: async (reader, { namespace, id, purge }) => {
    const before = jobOf(reader, namespace, id)
    return {
      before,
      parent: before === null ? null : parentOf(reader, before),
      version: before === null ? null : newestVersionOf(reader, before),
      blocked: await blockedOf(reader, namespace, id),
      scaled: purge ? await scalingsOf(reader, namespace, id) : [],
    }
  },
  apply: ({ index }, args, found): Applied<DeregisterOutcome> => {
    const { before, version, blocked, parent, scaled } = found
    if (before === null) return { changes: [], outcome: { type: 'unknown' } }
    const changes: Change[] = blocked.map((row) =>
      replace(evaluations, row, {
        ...row,
        status: 'canceled',
        statusDescription: 'the job was stopped',
        modifyMs: args.nowMs,
        modifyIndex: index,
      }),
    )
    const { scaled: _, ...others } = before
    const stopped: JobRow = before.stop
      ? before
      : {
          ...others,
          stop: true,
          version: before.version + 1,
          groups: before.groups.map((counts) => ({ ...counts, queued: 0 })),
          submitMs: args.nowMs,
          jobModifyIndex: index,
          modifyIndex: index,
        }
    const row = withStatus(stopped, { openEvaluations: !before.template, index })
    changes.push(...parentChanges(parent, { before, after: args.purge ? null : row }, index))
    if (args.purge) {
      changes.push(removeRow(jobs, before), ...scaled.map((one) => removeRow(scalings, one)))
    } else {
      if (row !== before) changes.push(replace(jobs, before, row))
      if (version !== null && row.version !== before.version) {
        changes.push(
          put(jobVersions, versionRow(row, { spec: version.spec, before: version, index })),
        )
      }
    }
    const evaluation = before.template
      ? null
      : evaluationOf(row, made(args, 'job-deregister'), { index, nowMs: args.nowMs })
    if (evaluation !== null) changes.push(put(evaluations, evaluation))
    return {
      changes,
      outcome: { type: 'deregistered', jobModifyIndex: row.jobModifyIndex, evaluation },
    }
  },
})

export type EvaluateOutcome =
  | { readonly type: 'evaluated'; readonly row: JobRow; readonly evaluation: EvaluationRow }
  | { readonly type: 'unknown' }

/** Whether its allocations are as they should be is looked at again. */
export const evaluateJob = defineCommand({
  type: 'jobs.evaluate',
  since: workloadsVersion,
  args: Type.Object(Named),
  load: (reader, { namespace, id }) => {
    const before = jobOf(reader, namespace, id)
    return { before, parent: before === null ? null : parentOf(reader, before) }
  },
  apply: ({ index }, args, { before, parent }): Applied<EvaluateOutcome> => {
    if (before === null) return { changes: [], outcome: { type: 'unknown' } }
    const row = withStatus(before, { openEvaluations: true, index })
    const evaluation = evaluationOf(row, made(args, 'job-register'), { index, nowMs: args.nowMs })
    const changes: Change[] = [put(evaluations, evaluation)]
    if (row !== before) changes.push(replace(jobs, before, row))
    changes.push(...parentChanges(parent, { before, after: row }, index))
    return { changes, outcome: { type: 'evaluated', row, evaluation } }
  },
})

export const jobCommands = commandsByType([
  registerJob,
  deregisterJob,
  evaluateJob,
  collectJobs,
  dispatchJob,
  launchJob,
  scaleJob,
])

async function blockedOf(
  reader: Reader,
  namespace: string,
  jobId: string,
): Promise<readonly EvaluationRow[]> {
  const blocked: EvaluationRow[] = []
  for await (const page of openEvaluationsOfJob(reader, { namespace, jobId })) {
    blocked.push(...page.filter(({ status }) => status === 'blocked'))
    if (blocked.length >= canceledMax) break
  }
  return blocked.slice(0, canceledMax)
}
