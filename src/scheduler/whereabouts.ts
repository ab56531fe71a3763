/** Where an allocation is, as far as its node tells: there, cut off with it for a while that its group allows, or lost. */
import type { AllocationRow } from '../domains/allocations/model.ts'
import { windowMsOf } from '../domains/allocations/window-model.ts'
import type { JobSpec } from '../domains/jobs/model.ts'

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
