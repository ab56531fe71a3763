/** Whether a lock stands that a write depends on; later domains ask it for their own writes, in the same entry. */
import type { Reader } from '../../fsm/domain.ts'
import { findIn } from './held-queries.ts'
import type { Fence } from './model.ts'
import { keys } from './table.ts'

export function holdsFence(reader: Reader, fence: Fence | null): boolean {
  if (fence === null) return true
  const stored = reader.get(keys, [fence.namespace, fence.key])
  if (stored === undefined || stored.session === null) return false
  const { row } = findIn(reader)(stored)
  return row !== null && row.session !== null && row.lockIndex === fence.lockIndex
}
