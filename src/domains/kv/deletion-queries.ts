/** The index that deletions give a prefix. It does not fall, also when marks are removed. */
import type { Reader } from '../../fsm/domain.ts'
import { deletionMarksVersion, directoriesOf } from './deletion-model.ts'
import type { DeletionMarkRow, KeyPlace } from './model.ts'
import { deletionMarks, lockMarks, reaped, tombstones } from './table.ts'

/** Directories below a prefix that is none itself that are looked at singly; with more, that of all of them counts. */
const directoriesReadMax = 64

/**
 * The highest index of a deletion below a prefix, 0 for none. Of a prefix that is no directory it may be that of a key
 * beside it in the same directory. Once marks are removed, what `reaped` says stands for all of the namespace.
 */
export async function deletionIndex(reader: Reader, place: KeyPlace): Promise<number> {
  const removed = reader.get(reaped, [place.namespace])?.index ?? 0
  const index =
    reader.commandVersion >= deletionMarksVersion
      ? Math.max(ownMarksIndex(reader), await marksIndex(reader, place))
      : await tombstonesIndex(reader, place)
  return Math.min(Math.max(removed, index), reader.appliedIndex)
}

async function marksIndex(reader: Reader, { namespace, key }: KeyPlace): Promise<number> {
  const directory = directoriesOf(key).at(-1) ?? ''
  const indexOf = (scope: DeletionMarkRow['scope']) =>
    reader.get(deletionMarks, [namespace, scope, directory])?.index ?? 0
  if (directory === key) return indexOf('below')
  let highest = indexOf('in')
  let count = 0
  const range = { prefix: [namespace, 'below'], startsWith: key }
  for await (const page of reader.pages(deletionMarks, range)) {
    for (const { index } of page) {
      count += 1
      if (count > directoriesReadMax) return indexOf('below')
      highest = Math.max(highest, index)
    }
  }
  return highest
}

/** Marks of single keys, which servers wrote before all of them wrote those of directories: none is above this. */
function ownMarksIndex(reader: Reader): number {
  const index = reader.tableIndex(tombstones)
  return index > reader.floorIndex ? index : 0
}

/** Of a cluster with older servers. */
async function tombstonesIndex(reader: Reader, { namespace, key }: KeyPlace): Promise<number> {
  let highest = 0
  const range = { prefix: [namespace], startsWith: key }
  for await (const page of reader.pages(tombstones, range)) {
    for (const { index } of page) highest = Math.max(highest, index)
  }
  return highest
}

/** Where the LockIndex of a key that is not there goes on from. */
export function lockIndexOfDeleted(reader: Reader, { namespace, key }: KeyPlace): number {
  const kept = reader.get(lockMarks, [namespace, key])?.lockIndex ?? 0
  // The numbers of a restored archive are below the floor anyway, and a cluster may never have had marks of that kind.
  const mayHaveOwnMark = reader.counterFloor === 0 && reader.tableIndex(tombstones) > 1
  if (reader.commandVersion >= deletionMarksVersion && !mayHaveOwnMark) return kept
  return Math.max(kept, reader.get(tombstones, [namespace, key])?.lockIndex ?? 0)
}
