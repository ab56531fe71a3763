/** How the row of a deployment follows its allocations. What places, changes or stops those writes it in the same entry. */
import type { Moment } from '../../fsm/domain.ts'
import type { JobRow } from '../jobs/table.ts'
import {
  canariesListedMax,
  descriptions,
  isCanarying,
  type DeploymentRow,
  type GroupState,
  type NewDeployment,
} from './model.ts'

/** As a plan makes it, of the job's newest version. */
export function newDeployment(
  { id, groups }: NewDeployment,
  job: JobRow,
  evalPriority: number,
  { index, nowMs }: Moment,
): DeploymentRow {
  const states = groups.map((group) => ({
    ...group,
    requireProgressByMs: null,
    promoted: false,
    placedCanaries: [],
    placed: 0,
    healthy: 0,
    unhealthy: 0,
    healthyCanaries: 0,
  }))
  return {
    id,
    namespace: job.namespace,
    jobId: job.id,
    jobCreateIndex: job.createIndex,
    jobVersion: job.version,
    jobModifyIndex: job.modifyIndex,
    jobSpecModifyIndex: job.jobModifyIndex,
    evalPriority,
    groups: states,
    status: 'running',
    statusDescription: runningText(states),
    createMs: nowMs,
    modifyMs: nowMs,
    createIndex: index,
    modifyIndex: index,
  }
}

/**
 * It wants other counts than before, as nodes came or went. A group that wants more has its time for the next healthy one from now on.
 * The same row where nothing changes.
 */
export function withCounts(
  row: DeploymentRow,
  wanted: NewDeployment['groups'],
  moment: Moment,
): DeploymentRow {
  const groups = row.groups.map((group) => {
    const counts = wanted.find((one) => one.group === group.group)
    if (counts === undefined) return group
    const { desiredTotal } = counts
    // Those that are promoted meanwhile stay as they were.
    const desiredCanaries = isCanarying(group) ? counts.desiredCanaries : group.desiredCanaries
    const wantsMore = desiredTotal > group.desiredTotal || desiredCanaries > group.desiredCanaries
    if (
      !wantsMore &&
      desiredTotal === group.desiredTotal &&
      desiredCanaries === group.desiredCanaries
    ) {
      return group
    }
    const restarts = wantsMore && group.requireProgressByMs !== null
    const requireProgressByMs = restarts ? progressBy(group, moment) : group.requireProgressByMs
    return { ...group, desiredTotal, desiredCanaries, requireProgressByMs }
  })
  const isSame = groups.every((group, at) => group === row.groups[at])
  return isSame ? row : changed({ ...row, groups }, moment)
}

/** How an allocation counts in its deployment. */
export type Standing = {
  readonly healthy: boolean | null
  readonly isCanary: boolean
  /** It has ended, or is to; or it is cut off with its node. */
  readonly isOver: boolean
}

/** One was placed, or became of the deployment's version in place. */
export function withPlaced(
  row: DeploymentRow,
  name: string,
  { id, isCanary }: { readonly id: string; readonly isCanary: boolean },
  moment: Moment,
): DeploymentRow {
  return withGroup(row, name, moment, (group) => ({
    ...group,
    placed: group.placed + 1,
    placedCanaries: isCanary
      ? [...group.placedCanaries, id].slice(-canariesListedMax)
      : group.placedCanaries,
    requireProgressByMs: group.requireProgressByMs ?? progressBy(group, moment),
  }))
}

/** An allocation stands otherwise than before. Each change of how many are healthy begins the time for the next one. */
export function withStanding(
  row: DeploymentRow,
  name: string,
  { before, after }: { readonly before: Standing; readonly after: Standing },
  moment: Moment,
): DeploymentRow {
  const healthy = Number(isHealthy(after)) - Number(isHealthy(before))
  const becameUnhealthy = after.healthy === false && before.healthy !== false
  if (healthy === 0 && !becameUnhealthy) return row
  return withGroup(row, name, moment, (group) => ({
    ...group,
    healthy: Math.max(0, group.healthy + healthy),
    healthyCanaries: Math.max(0, group.healthyCanaries + (after.isCanary ? healthy : 0)),
    unhealthy: group.unhealthy + Number(becameUnhealthy),
    requireProgressByMs:
      healthy === 0 ? group.requireProgressByMs : (progressBy(group, moment) ?? null),
  }))
}

/** Canaries of these groups are as good as any other allocation. */
export function withPromoted(
  row: DeploymentRow,
  names: ReadonlySet<string>,
  moment: Moment,
): DeploymentRow {
  const groups = row.groups.map((group) =>
    names.has(group.group) && isCanarying(group)
      ? { ...group, promoted: true, requireProgressByMs: progressBy(group, moment) }
      : group,
  )
  const isPaused = row.status === 'paused'
  const statusDescription = isPaused ? row.statusDescription : runningText(groups)
  return changed({ ...row, groups, statusDescription }, moment)
}

/** Time stands still for one that is paused. */
export function withPause(row: DeploymentRow, isPaused: boolean, moment: Moment): DeploymentRow {
  if (isPaused) {
    return changed({ ...row, status: 'paused', statusDescription: descriptions.paused }, moment)
  }
  const groups = row.groups.map((group) =>
    group.requireProgressByMs === null
      ? group
      : { ...group, requireProgressByMs: progressBy(group, moment) },
  )
  const statusDescription = runningText(groups)
  return changed({ ...row, groups, status: 'running', statusDescription }, moment)
}

export function withStatus(
  row: DeploymentRow,
  { status, statusDescription }: Pick<DeploymentRow, 'status' | 'statusDescription'>,
  moment: Moment,
): DeploymentRow {
  return changed({ ...row, status, statusDescription }, moment)
}

function withGroup(
  row: DeploymentRow,
  name: string,
  moment: Moment,
  change: (group: GroupState) => GroupState,
): DeploymentRow {
  const groups = row.groups.map((group) => (group.group === name ? change(group) : group))
  return changed({ ...row, groups }, moment)
}

function changed(row: DeploymentRow, { index, nowMs }: Moment): DeploymentRow {
  return { ...row, modifyMs: nowMs, modifyIndex: index }
}

function progressBy({ progressDeadlineMs }: GroupState, { nowMs }: Moment): number | null {
  return progressDeadlineMs === 0 ? null : nowMs + progressDeadlineMs
}

function isHealthy({ healthy, isOver }: Standing): boolean {
  return healthy === true && !isOver
}

function runningText(groups: readonly GroupState[]): string {
  const waiting = groups.filter(isCanarying)
  if (waiting.length === 0) return descriptions.running
  return waiting.every(({ autoPromote }) => autoPromote)
    ? descriptions.awaitsPromotion
    : descriptions.needsPromotion
}
