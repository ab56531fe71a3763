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
import type { KeyPlace, KvRow } from './model.ts'
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

/** Until when keys are held back that the session held. */
function heldBackUntilMs({ lockDelayNs, moment }: Release): number {
  return moment.nowMs + lockDelayMsOf({ lockDelayNs })
}

/** Until when the key can not be locked, by the leader's wall clock; 0 when nothing holds it back. */
export function lockDelayUntilMs(reader: Reader, { namespace, key }: KeyPlace): number {
  const stored = reader.get(keys, [namespace, key])
  const release = stored === undefined ? null : findIn(reader)(stored).release
  return delayUntilMs(reader, { namespace, key }, release)
}

/** The same where the key's release was found already. */
export function delayUntilMs(
  reader: Reader,
  { namespace, key }: KeyPlace,
  release: Release | null,
): number {
  if (release !== null) return heldBackUntilMs(release)
  return reader.get(lockDelays, [namespace, key])?.untilMs ?? 0
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
    const { namespace, key, lockIndex } = held
    if (row === null) deletions.add(held, lockIndex, one)
    else changes.push(replace(keys, one, row))
    changes.push(put(lockDelays, { namespace, key, untilMs: heldBackUntilMs(release) }))
  }
  return [...changes, ...deletions.changes()]
}

/** Whether a key of it is there. Of very many that are gone and not written yet, the first are looked at: more mean yes. */
export function hasKeys(reader: Reader, namespace: string): Promise<boolean> {
  const find = findIn(reader)
  const rows = reader.pages(keys, { prefix: [namespace] })
  return anyStands(rows, (stored) => find(stored).row !== null, goneRowsMax)
}
