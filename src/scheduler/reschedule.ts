/** When a failed allocation is placed anew: at once, after a delay that grows, or not at all. */
import type { AllocationRow } from '../domains/allocations/model.ts'
import { reschedules, reschedulesMax, type Reschedule } from '../domains/jobs/rules-model.ts'
import { nsPerMs } from '../lib/duration.ts'

export type Rescheduling =
  | { readonly type: 'now'; readonly delayMs: number }
  | { readonly type: 'at'; readonly timeMs: number }
  | { readonly type: 'never' }

type Failed = Pick<
  AllocationRow,
  'tasks' | 'modifyMs' | 'createMs' | 'rescheduled' | 'rescheduleNow'
>

export function reschedulingOf(
  failed: Failed,
  policy: Reschedule | null,
  nowMs: number,
): Rescheduling {
  if (!reschedules(policy)) return { type: 'never' }
  const failedMs = failedAt(failed)
  if (failed.rescheduleNow === true) {
    return { type: 'now', delayMs: delayOf(failed, policy, failedMs) }
  }
  if (!policy.Unlimited) {
    const sinceMs = failedMs - policy.Interval / nsPerMs
    const attempts = failed.rescheduled.filter(({ timeMs }) => timeMs > sinceMs).length
    // More are never counted: a job of before that was refused would try for ever.
    if (attempts >= Math.min(policy.Attempts, reschedulesMax)) return { type: 'never' }
  }
  const delayMs = delayOf(failed, policy, failedMs)
  const timeMs = failedMs + delayMs
  return timeMs <= nowMs ? { type: 'now', delayMs } : { type: 'at', timeMs }
}

/** What the allocation that takes its place says of those before it. */
export function rescheduledWith(
  row: Pick<AllocationRow, 'id' | 'nodeId' | 'rescheduled'>,
  { nowMs, delayMs }: { readonly nowMs: number; readonly delayMs: number },
): AllocationRow['rescheduled'] {
  const event = { timeMs: nowMs, allocation: row.id, node: row.nodeId, delayMs }
  return [...row.rescheduled, event].slice(-reschedulesMax)
}

/** Nodes on which it or one before it failed. */
export function penalizedNodes(
  row: Pick<AllocationRow, 'nodeId' | 'rescheduled'>,
): ReadonlySet<string> {
  return new Set([row.nodeId, ...row.rescheduled.map(({ node }) => node)])
}

function failedAt({ tasks, modifyMs }: Failed): number {
  const finished = tasks.flatMap(({ finishedMs }) => (finishedMs === null ? [] : [finishedMs]))
  return finished.length === 0 ? modifyMs : Math.max(...finished)
}

/** From the first delay again once it ran for longer than the longest delay. */
function delayOf({ rescheduled, createMs }: Failed, policy: Reschedule, failedMs: number): number {
  const firstMs = Math.max(0, policy.Delay / nsPerMs)
  const maxMs = policy.MaxDelay > 0 ? policy.MaxDelay / nsPerMs : Infinity
  const last = rescheduled.at(-1)
  if (last === undefined || policy.DelayFunction === 'constant') return Math.round(firstMs)
  if (failedMs - createMs > maxMs) return Math.round(firstMs)
  const before = rescheduled.at(-2)?.delayMs ?? 0
  // A shorter one than before it is the first of a new series.
  const added = before > last.delayMs ? 0 : before
  const grownMs = last.delayMs + (policy.DelayFunction === 'fibonacci' ? added : last.delayMs)
  return Math.round(Math.min(maxMs, Math.max(firstMs, grownMs)))
}
