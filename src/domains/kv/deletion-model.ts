/**
 * Marks of deletions: by them the index of a prefix shows that a key below it went. There is one for each directory that a
 * deleted key stood in, not one for each key, so that a read looks at one mark, or a few, however many keys were deleted.
 *
 * A directory is the front of a key up to a slash, and '' that of all keys. Its `below` mark is of the last deletion of any
 * key below it; its `in` mark of the last one of a key that has no further marked directory.
 */
import type { Change } from '../../fsm/domain.ts'
import { put, remove, removeRow } from '../define.ts'
import type { DeletionMarkRow, KeyPlace, KvRow } from './model.ts'
import { deletionMarks, keys, kvValues, lockMarks, tombstones } from './table.ts'

/** The command version from which on all servers write these. Before, each deleted key left a mark of its own. */
export const deletionMarksVersion = 2

/** Directories of one key that have marks, '' not counted; what is below the last of them counts as in it. */
export const markedDirectoriesMax = 8

/** From '' on, each below the one before. The key itself when it ends in a slash. */
export function directoriesOf(key: string): readonly string[] {
  const directories = ['']
  let at = key.indexOf('/')
  while (at >= 0 && directories.length <= markedDirectoriesMax) {
    directories.push(key.slice(0, at + 1))
    at = key.indexOf('/', at + 1)
  }
  return directories
}

/** What one entry deletes, as changes: of each mark one. */
export class Deletions {
  readonly #marksDirectories: boolean
  readonly #at: { readonly index: number; readonly timeMs: number }
  readonly #changes: Change[] = []
  readonly #marked = new Set<string>()

  /** `timeMs`: wall time as the proposer chose it. */
  constructor(commandVersion: number, at: { readonly index: number; readonly timeMs: number }) {
    this.#marksDirectories = commandVersion >= deletionMarksVersion
    this.#at = at
  }

  /**
   * A key that the state holds goes; `lockIndex`: its LockIndex goes on from there. `stored`: the row as the entry's reader found
   * it; null: it is looked up.
   */
  add(row: KvRow, lockIndex: number, stored: KvRow | null = null): void {
    const { namespace, key } = row
    this.#changes.push(stored === null ? remove(keys, [namespace, key]) : removeRow(keys, stored))
    if (row.value === null) this.#changes.push(remove(kvValues, [namespace, key]))
    if (!this.#marksDirectories) {
      this.#changes.push(put(tombstones, { namespace, key, lockIndex, ...this.#at }))
      return
    }
    this.keepLockIndex(row, lockIndex)
    this.#markDirectories(row)
  }

  /** Of a key that is not there afterwards: a client was told the number. */
  keepLockIndex({ namespace, key }: KeyPlace, lockIndex: number): void {
    if (lockIndex === 0) return
    this.#changes.push(put(lockMarks, { namespace, key, lockIndex, ...this.#at }))
  }

  changes(): readonly Change[] {
    return this.#changes
  }

  #markDirectories({ namespace, key }: KeyPlace): void {
    const directories = directoriesOf(key)
    this.#mark(namespace, 'in', directories.at(-1) ?? '')
    // What has the mark of a directory has those of the directories above it too.
    for (const directory of directories.toReversed()) {
      if (!this.#mark(namespace, 'below', directory)) return
    }
  }

  #mark(namespace: string, scope: DeletionMarkRow['scope'], directory: string): boolean {
    const name = `${scope}\x00${namespace}\x00${directory}`
    if (this.#marked.has(name)) return false
    this.#marked.add(name)
    this.#changes.push(put(deletionMarks, { namespace, scope, directory, ...this.#at }))
    return true
  }
}
