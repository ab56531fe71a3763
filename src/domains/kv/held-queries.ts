/**
 * Rows of keys as readers see them. Two things are not as they are stored: the number of a lock that came with a restored
 * archive, or over the loss of a quorum, for the one its holder knows may have been another holder's since; and the lock of
 * a session that has ended, whose keys are not all written yet.
 */
import type { Change, Moment, Reader } from '../../fsm/domain.ts'
import type { MarkReader } from '../../fsm/fact.ts'
import { anyStands, put, replace } from '../define.ts'
import { endedIn } from '../sessions/ended-queries.ts'
import { lockDelayMsOf, type SessionSpec } from '../sessions/model.ts'
import { Deletions } from './deletion-model.ts'
import {
  judgedDelaysVersion,
  type KeyPlace,
  type KvRow,
  type LockDelay,
  type LockDelayRow,
} from './model.ts'
import { keys, lockDelays } from './table.ts'

/** Rows of keys that are gone that `hasKeys` looks at. */
const goneRowsMax = 4_096

/** The end of the session that holds a key. */
export type Release = Pick<SessionSpec, 'behavior' | 'lockDelayNs'> & { readonly moment: Moment }

/** What a reader finds of a stored row. */
export type Found = {
  /** Null: the key is gone. */
  readonly row: KvRow | null
  /** Null: what stands is what is stored. */
  readonly release: Release | null
}

/** For rows of one state. Every reader of keys sees them through this. */
export function findIn(
  reader: MarkReader & Pick<Reader, 'counterFloor'>,
): (stored: KvRow) => Found {
  let endOf: ReturnType<typeof endedIn> | null = null
  return (stored) => {
    const { namespace, session } = stored
    if (session === null) return { row: stored, release: null }
    const row = numbered(reader, stored)
    // Not before it is needed: it makes a reader wake for the first mark there is.
    endOf ??= endedIn(reader)
    const release = endOf({ namespace, id: session })
    return { row: release === null ? row : released(row, release), release }
  }
}

/** The row with the number that its lock has now. */
export function numbered({ counterFloor }: Pick<Reader, 'counterFloor'>, row: KvRow): KvRow {
  if (row.session === null || row.lockIndex > counterFloor) return row
  return { ...row, lockIndex: counterFloor + 1 }
}

/** Null: it goes with its session. */
function released(row: KvRow, { behavior, moment }: Release): KvRow | null {
  return behavior === 'delete' ? null : { ...row, session: null, modifyIndex: moment.index }
}

/** For how long keys are held back that the session held. */
function delayOf({ lockDelayNs, moment }: Release) {
  const delayMs = lockDelayMsOf({ lockDelayNs })
  return { untilMs: moment.nowMs + delayMs, ended: { index: moment.index, delayMs } }
}

/** What may hold the key back from being locked, also where it is over; null: nothing does. */
export function lockDelayOf(reader: Reader, { namespace, key }: KeyPlace): LockDelay | null {
  const stored = reader.get(keys, [namespace, key])
  const release = stored === undefined ? null : findIn(reader)(stored).release
  return lockDelayWith(reader, { namespace, key }, release)
}

/** The same where the key's release was found already. */
export function lockDelayWith(
  reader: Reader,
  { namespace, key }: KeyPlace,
  release: Release | null,
): LockDelay | null {
  if (release !== null) return delayOf(release)
  const row = reader.get(lockDelays, [namespace, key])
  if (row === undefined) return null
  const { untilMs, endIndex, delayMs } = row
  const isKnown = endIndex !== undefined && delayMs !== undefined
  return { untilMs, ended: isKnown ? { index: endIndex, delayMs } : null }
}

function delayRow(reader: Reader, { namespace, key }: KeyPlace, release: Release): LockDelayRow {
  const { untilMs, ended } = delayOf(release)
  const row = { namespace, key, untilMs }
  if (reader.commandVersion < judgedDelaysVersion) return row
  return { ...row, endIndex: ended.index, delayMs: ended.delayMs }
}

/** Writes what `findIn` finds of these rows, in the entry after the reader's state. */
export function releaseOf(
  reader: Reader,
  release: Release,
  stored: readonly KvRow[],
): readonly Change[] {
  // The index of a prefix must not fall when these marks come late: they are this entry's.
  const at = { index: reader.appliedIndex + 1, timeMs: release.moment.nowMs }
  const deletions = new Deletions(reader.commandVersion, at)
  const changes: Change[] = []
  for (const one of stored) {
    const held = numbered(reader, one)
    const row = released(held, release)
    if (row === null) deletions.add(held, held.lockIndex, one)
    else changes.push(replace(keys, one, row))
    changes.push(put(lockDelays, delayRow(reader, held, release)))
  }
  return [...changes, ...deletions.changes()]
}

/** Whether a key of it is there. Of very many that are gone and not written yet, the first are looked at: more mean yes. */
export function hasKeys(reader: Reader, namespace: string): Promise<boolean> {
  const find = findIn(reader)
  const rows = reader.pages(keys, { prefix: [namespace] })
  return anyStands(rows, (stored) => find(stored).row !== null, goneRowsMax)
}
