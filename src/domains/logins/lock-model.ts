/** Names that failed to log in too often, and are locked for a while. */
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { MountId } from './model.ts'

/** Characters of a name: what is longer counts by its beginning. */
export const lockNameLengthMax = 256

/** Names that are locked at once, over all mounts: at the bound the lock that ends first goes. An entry that locks reads them all. */
export const locksMax = 1_024
/** Locks whose time is over that one entry removes. */
export const endedLocksPerEntryMax = 64

export const LockName = Type.String({ minLength: 1, maxLength: lockNameLengthMax })

export const LockRow = record({
  mountId: MountId,
  name: LockName,
  /** From then on the name may log in again. */
  untilMs: TimeMs,
  ...indexes,
})
export type LockRow = Readonly<Static<typeof LockRow>>

/** null: a login by this name is not counted. */
export function lockNameOf(name: string): string | null {
  const kept = name.slice(0, lockNameLengthMax).toWellFormed()
  return kept === '' ? null : kept
}
