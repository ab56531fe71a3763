/**
 * Whether a lock stands that a write depends on; later domains ask it for their own writes, in the same entry. And by
 * which number it stands: a holder that came with a restored archive, or over the loss of a quorum, has its number anew,
 * for the one it knows may have been another holder's since.
 */
import type { Reader } from '../../fsm/domain.ts'
import type { Fence, KvRow } from './model.ts'
import { keys } from './table.ts'

export function holdsFence(reader: Reader, fence: Fence | null): boolean {
  if (fence === null) return true
  const row = reader.get(keys, [fence.namespace, fence.key])
  if (row === undefined || row.session === null) return false
  return standing(reader, row).lockIndex === fence.lockIndex
}

/** The row with the number that its lock has now. Every reader of rows whose LockIndex matters sees them through this. */
export function standing(reader: Pick<Reader, 'counterFloor'>, row: KvRow): KvRow {
  const { counterFloor } = reader
  if (row.session === null || row.lockIndex > counterFloor) return row
  return { ...row, lockIndex: counterFloor + 1 }
}
