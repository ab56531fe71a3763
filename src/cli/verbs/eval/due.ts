/** When an evaluation is due that waits. */
import { textOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'

/** Null: it does not wait. */
export function dueMsOf(evaluation: JsonObject): number | null {
  if (textOf(evaluation, 'Status') !== 'pending') return null
  const dueMs = Date.parse(textOf(evaluation, 'WaitUntil'))
  return dueMs > 0 ? dueMs : null
}
