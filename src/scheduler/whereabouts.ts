/**
 * Where an allocation is, as far as its node tells: there, cut off with it for a while that its group allows, or lost. And how long a lost
 * one may still run, where its agent ends it by itself.
 */
import type { AllocationRow } from '../domains/allocations/model.ts'
import { groupOf, stopsAfterMsMin, windowMsOf } from '../domains/allocations/window-model.ts'
import type { JobSpec } from '../domains/jobs/model.ts'
import { nsPerMs } from '../lib/duration.ts'

export type Whereabouts =
  | { readonly type: 'there' }
  /** Its node is cut off, and it may come back until then. */
  | { readonly type: 'away'; readonly untilMs: number }
  /** The node is down or gone, or was cut off for too long. */
  | { readonly type: 'lost' }

/** Of a node; null: there is none. `cutOffMs`: since when it is; null: it is not. */
export type Contact = { readonly isDown: boolean; readonly cutOffMs: number | null } | null

type Placed = Pick<AllocationRow, 'group' | 'clientStatus'>

/** `spec`: of the version that it runs; null: it is not known any more. */
export function whereabouts(
  row: Placed,
  spec: JobSpec | null,
  node: Contact,
  nowMs: number,
): Whereabouts {
  if (node === null || node.isDown) return { type: 'lost' }
  if (node.cutOffMs === null) return { type: 'there' }
  const windowMs = windowMsOf(row, spec)
  if (windowMs === null) return { type: 'lost' }
  const untilMs = node.cutOffMs + windowMs
  return nowMs < untilMs ? { type: 'away', untilMs } : { type: 'lost' }
}

/**
 * How long a lost one is not replaced: its agent, which may live, ends its tasks by itself that long after its last heartbeat, and
 * they take their time to end. 0: it is replaced at once.
 */
export function endsWithinMs({ group }: Placed, spec: JobSpec | null): number {
  const found = groupOf(group, spec)
  const afterNs = found?.StopAfterClientDisconnect ?? null
  if (found === null || afterNs === null) return 0
  const ends = found.Tasks.map(({ KillTimeout, ShutdownDelay }) => KillTimeout + ShutdownDelay)
  const endsNs = (found.ShutdownDelay ?? 0) + Math.max(0, ...ends)
  return Math.max(stopsAfterMsMin, Math.ceil(afterNs / nsPerMs)) + Math.ceil(endsNs / nsPerMs)
}
