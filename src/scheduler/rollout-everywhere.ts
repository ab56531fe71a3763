/**
 * What groups of a system job say of their deployment. It wants one healthy allocation on each node that can run the group, so what it
 * wants changes with the nodes: each decision compares the counts of the deployment under way with what it sees.
 */
import { isCanarying, type GroupState } from '../domains/deployments/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { hasLimit, wantedGroup, type GroupRollout } from './rollout.ts'
import type { ScheduledJob } from './scheduled-job.ts'

/** Places on nodes without an allocation of the group that had no room for one; `canaries` of them were for canaries. */
export type Roomless = { readonly all: number; readonly canaries: number }

export const noneRoomless: Roomless = { all: 0, canaries: 0 }

/** How far a group is, before places were looked for. */
export type Progress = {
  /** It needs a new deployment. */
  readonly begins: boolean
  /** In the deployment under way; null: it is none of it, or there is none. */
  readonly state: GroupState | null
  /** 0: it tries none now. */
  readonly canariesWanted: number
  /** Nodes that can run it, and those that take no work now and run the newest version already. */
  readonly total: number
  /** Nodes that are to get an allocation and have none; not those that were emptied for the update. */
  readonly fresh: number
  /** Nothing is left to replace, to try or to wait for, but `fresh`. */
  readonly isSettled: boolean
}

/** As `isDeployed`, of a system job. */
export function isDeployedEverywhere(
  { job, deploysSystemJobs }: { readonly job: ScheduledJob; readonly deploysSystemJobs: boolean },
  group: TaskGroup,
): boolean {
  return deploysSystemJobs && job.spec.Type === 'system' && hasLimit(group)
}

/** A node without an allocation and without room for one is not waited for; one that runs an older version is. */
export function rolloutEverywhere(
  group: TaskGroup,
  { begins, state, canariesWanted, total, fresh, isSettled }: Progress,
  roomless: Roomless,
): GroupRollout {
  const desiredTotal = total - roomless.all
  // With none wanted it would count as promoted.
  const tried = canariesWanted === 0 ? 0 : Math.max(1, canariesWanted - roomless.canaries)
  const desiredCanaries = state === null || isCanarying(state) ? tried : state.desiredCanaries
  const isChanged =
    state !== null &&
    (state.desiredTotal !== desiredTotal || state.desiredCanaries !== desiredCanaries)
  return {
    wanted: begins || isChanged ? wantedGroup(group, { desiredCanaries, desiredTotal }) : null,
    isComplete: isSettled && fresh === roomless.all,
    isVoid: state === null || desiredTotal === 0,
  }
}
