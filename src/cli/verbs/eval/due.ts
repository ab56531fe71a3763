/** When an evaluation is due that waits, and which allocations wait for one. */
import { textOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'

/** Null: it does not wait. */
export function dueMsOf(evaluation: JsonObject): number | null {
  if (textOf(evaluation, 'Status') !== 'pending') return null
  const dueMs = Date.parse(textOf(evaluation, 'WaitUntil'))
  return dueMs > 0 ? dueMs : null
}

/** An allocation may be placed anew by the evaluation that it names: not one that is back, or is to stop. */
export function isRescheduled(allocation: JsonObject): boolean {
  const isOver = ['failed', 'lost', 'unknown'].includes(textOf(allocation, 'ClientStatus'))
  return isOver && textOf(allocation, 'DesiredStatus') !== 'stop'
}
