/** What one look at an active deployment leads to. */
import { descriptions, isCanarying, type DeploymentRow, type GroupState } from './model.ts'

export type Step =
  | { readonly type: 'fail'; readonly description: string; readonly reverts: boolean }
  | { readonly type: 'promote' }
  /** `untilMs`: when to look again, if nothing changes before; Infinity: never. */
  | { readonly type: 'wait'; readonly untilMs: number }

/** One that is paused waits for its operator. */
export function stepOf({ status, groups }: DeploymentRow, nowMs: number): Step {
  if (status !== 'running') return { type: 'wait', untilMs: Infinity }
  const bad = groups.filter((group) => group.progressDeadlineMs === 0 && group.unhealthy > 0)
  if (bad.length > 0) return failure(descriptions.unhealthy, bad)
  const late = groups.filter((group) => dueMs(group) <= nowMs)
  if (late.length > 0) return failure(descriptions.noProgress, late)
  const waiting = groups.filter(isCanarying)
  const promotes = waiting.every((group) => group.autoPromote && hasHealthyCanaries(group))
  if (waiting.length > 0 && promotes) return { type: 'promote' }
  return { type: 'wait', untilMs: Math.min(Infinity, ...groups.map(dueMs)) }
}

export function hasHealthyCanaries({ healthyCanaries, desiredCanaries }: GroupState): boolean {
  return healthyCanaries >= desiredCanaries
}

function failure(description: string, groups: readonly GroupState[]): Step {
  return { type: 'fail', description, reverts: groups.some(({ autoRevert }) => autoRevert) }
}

/** By when the group has to be further; Infinity: it has all that it can have now. */
function dueMs(group: GroupState): number {
  const isDone = isCanarying(group)
    ? hasHealthyCanaries(group)
    : group.healthy >= group.desiredTotal
  return isDone ? Infinity : (group.requireProgressByMs ?? Infinity)
}
