/**
 * Changes of deployments by operators and by the leader's watcher. Each leads to an evaluation: what it means for allocations is worked out
 * by a scheduler worker. A failure and the job's way back to a version that was stable are one entry.
 */
import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import type { Applied, Change, Moment, Reader } from '../../fsm/domain.ts'
import { commandsByType, defineCommand, put, replace, TimeMs } from '../define.ts'
import { isJobType } from '../evaluations/job-type-model.ts'
import { GroupName, RowId, workloadsVersion, type EvaluationRow } from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import { scaledMember } from '../jobs/scaling-model.ts'
import { scaledBefore, versionRow } from '../jobs/version-commands.ts'
import { evaluationOf } from '../jobs/job-evaluation-model.ts'
import { jobOf, newestVersionOf, versionOf } from '../jobs/queries.ts'
import { countsFor, withWork } from '../jobs/state-model.ts'
import { jobs, jobVersions, type JobRow, type JobVersionRow } from '../jobs/table.ts'
import { descriptions, isActive, isCanarying, type DeploymentRow } from './model.ts'
import { deploymentById } from './queries.ts'
import { withPause, withPromoted, withStatus } from './state-model.ts'
import { hasHealthyCanaries, stepOf } from './step-model.ts'
import { deployments } from './table.ts'

export type DeploymentOutcome =
  | {
      readonly type: 'changed'
      readonly row: DeploymentRow
      /** Null: the job is gone. */
      readonly evaluation: EvaluationRow | null
      readonly revertedVersion: number | null
    }
  | { readonly type: 'unknown' }
  | { readonly type: 'refused'; readonly reason: string }

/** A deployment with its job, as an entry finds them. */
export type FoundDeployment = {
  readonly row: DeploymentRow
  readonly job: JobRow | null
  readonly newest: JobVersionRow | null
  /** The version that the job goes back to. */
  readonly stable: JobVersionRow | null
}

const Named = { id: RowId, evaluationId: RowId, nowMs: TimeMs }
type Named = { readonly evaluationId: string; readonly nowMs: number }

export function foundDeployment(reader: Reader, id: string): FoundDeployment | null {
  const row = deploymentById(reader, id)
  if (row === null) return null
  const job = jobOf(reader, row.namespace, row.jobId)
  const stable =
    job === null || job.stableVersion === undefined
      ? null
      : versionOf(reader, { ...job, jobCreateIndex: job.createIndex, version: job.stableVersion })
  return { row, job, newest: job === null ? null : newestVersionOf(reader, job), stable }
}

/** `operator`: whatever it is; else only if a group of it is late or has unhealthy allocations at that time. */
export const failDeployment = defineCommand({
  type: 'deployments.fail',
  since: workloadsVersion,
  args: Type.Object({ ...Named, operator: Type.Boolean() }),
  load: (reader, { id }) => foundDeployment(reader, id),
  apply: ({ index }, { operator, ...args }, found): Applied<DeploymentOutcome> => {
    if (found === null) return unknown
    if (!isActive(found.row)) return refused(overText(found.row))
    const step = stepOf(found.row, args.nowMs)
    if (!operator && step.type !== 'fail') return refused('it makes progress')
    const reverts = operator
      ? found.row.groups.some(({ autoRevert }) => autoRevert)
      : step.type === 'fail' && step.reverts
    const description =
      operator || step.type !== 'fail' ? descriptions.markedFailed : step.description
    return failed(found, { ...args, index, description, reverts })
  },
})

export const pauseDeployment = defineCommand({
  type: 'deployments.pause',
  since: workloadsVersion,
  args: Type.Object({ ...Named, pause: Type.Boolean() }),
  load: (reader, { id }) => foundDeployment(reader, id),
  apply: ({ index }, { pause, ...args }, found): Applied<DeploymentOutcome> => {
    if (found === null) return unknown
    if (!isActive(found.row)) return refused(overText(found.row))
    const row = withPause(found.row, pause, { index, nowMs: args.nowMs })
    return changed(found, row, found.job, { ...args, index })
  },
})

/** `groups`: null for all that have canaries. */
export const promoteDeployment = defineCommand({
  type: 'deployments.promote',
  since: workloadsVersion,
  args: Type.Object({
    ...Named,
    groups: Type.Union([Type.Null(), Type.Array(GroupName, { maxItems: 256 })]),
  }),
  load: (reader, { id }) => foundDeployment(reader, id),
  apply: ({ index }, { groups, ...args }, found): Applied<DeploymentOutcome> => {
    if (found === null) return unknown
    if (!isActive(found.row)) return refused(overText(found.row))
    const named = groups === null ? null : new Set(groups)
    const states = found.row.groups
    const missing = groups?.find((name) => !states.some(({ group }) => group === name))
    if (missing !== undefined) return refused(`it has no group ${JSON.stringify(missing)}`)
    const waiting = states.filter((one) => isCanarying(one) && named?.has(one.group) !== false)
    if (waiting.length === 0) return refused('it has no canaries to promote')
    const ill = waiting.find((one) => !hasHealthyCanaries(one))
    if (ill !== undefined) {
      const { group, healthyCanaries, desiredCanaries } = ill
      return refused(
        `group ${JSON.stringify(group)} has ${healthyCanaries} of ${desiredCanaries} canaries healthy`,
      )
    }
    const promoted = new Set(waiting.map(({ group }) => group))
    const row = withPromoted(found.row, promoted, { index, nowMs: args.nowMs })
    return changed(found, row, found.job, { ...args, index })
  },
})

export const deploymentCommands = commandsByType([
  failDeployment,
  pauseDeployment,
  promoteDeployment,
])

type Entry = Named & { readonly index: number }

/** `current`: with what the entry changed of it already. It ends badly, and the job goes back where it `reverts` and there is something to go back to. */
export function failed(
  found: FoundDeployment,
  entry: Entry & { readonly description: string; readonly reverts: boolean },
  current: DeploymentRow = found.row,
): Applied<DeploymentOutcome> {
  const back = entry.reverts ? wayBack(found) : null
  const statusDescription = entry.description + (back?.text ?? '')
  const row = withStatus(current, { status: 'failed', statusDescription }, entry)
  if (found.job === null || back === null || back.spec === null) {
    return changed(found, row, found.job, entry)
  }
  const { spec, version } = back
  const job = reverted(found.job, found.newest, spec, entry)
  const { changes, outcome } = changed(found, row, job, entry)
  return {
    changes: [
      ...changes,
      put(jobVersions, versionRow(job, { spec, before: null, index: entry.index })),
    ],
    outcome: { ...outcome, revertedVersion: version },
  }
}

type WayBack = {
  readonly text: string
  readonly spec: JobVersionRow['spec'] | null
  readonly version: number
}

/** Null: the job is another one meanwhile. To what is the same it does not go back: it would fail again, for ever. */
function wayBack({ row, job, newest, stable }: FoundDeployment): WayBack | null {
  if (job === null || newest === null || job.stop) return null
  if (job.version !== row.jobVersion || job.createIndex !== row.jobCreateIndex) return null
  if (stable === null) {
    return { text: ' - no stable job version to auto revert to', spec: null, version: 0 }
  }
  const { spec, version } = stable
  if (isDeepStrictEqual(spec, newest.spec)) {
    const text = ` - not rolling back to stable job version ${version} as current job has same specification`
    return { text, spec: null, version }
  }
  return { text: ` - rolling back to job version ${version}`, spec, version }
}

function reverted(
  before: JobRow,
  newest: JobVersionRow | null,
  spec: JobVersionRow['spec'],
  { index, nowMs }: { readonly index: number; readonly nowMs: number },
): JobRow {
  const { scaled: _, ...others } = before
  return {
    ...others,
    type: isJobType(spec.Type) ? spec.Type : before.type,
    priority: spec.Priority,
    version: before.version + 1,
    groups: countsFor(
      spec.TaskGroups.map(({ Name }) => Name),
      before,
    ),
    ...scaledMember(spec, scaledBefore(before, newest), index),
    submitMs: nowMs,
    jobModifyIndex: index,
    modifyIndex: index,
  }
}

/** The row is written as it is given, and the job looked at again. */
export function changed(
  { row: before, job: jobBefore }: FoundDeployment,
  row: DeploymentRow,
  job: JobRow | null,
  { evaluationId: id, index, nowMs }: Entry,
): { readonly changes: Change[]; readonly outcome: Changed } {
  const changes: Change[] = [replace(deployments, before, row)]
  const outcome = { type: 'changed', row, revertedVersion: null } as const
  if (job === null || jobBefore === null)
    return { changes, outcome: { ...outcome, evaluation: null } }
  const moment: Moment = { index, nowMs }
  const made = { id, triggeredBy: 'deployment-watcher', deploymentId: row.id } as const
  const evaluation = evaluationOf(job, made, moment)
  const after = withWork(job, { counts: [], queued: null, openEvaluations: true }, index)
  changes.push(put(evaluations, evaluation))
  if (after !== jobBefore) changes.push(replace(jobs, jobBefore, after))
  return { changes, outcome: { ...outcome, evaluation } }
}

type Changed = Extract<DeploymentOutcome, { type: 'changed' }>

const unknown: Applied<DeploymentOutcome> = { changes: [], outcome: { type: 'unknown' } }

function refused(reason: string): Applied<DeploymentOutcome> {
  return { changes: [], outcome: { type: 'refused', reason } }
}

function overText({ status }: DeploymentRow): string {
  return `the deployment is over: it is ${status}`
}
