/** Whether a lock stands that a write depends on. Later domains ask it for their own writes, in the same entry. */
import type { Reader } from '../../fsm/domain.ts'
import type { Fence } from './model.ts'
import { keys } from './table.ts'

export function holdsFence(reader: Reader, fence: Fence | null): boolean {
  if (fence === null) return true
  const row = reader.get(keys, [fence.namespace, fence.key])
  return row !== undefined && row.session !== null && row.lockIndex === fence.lockIndex
}
