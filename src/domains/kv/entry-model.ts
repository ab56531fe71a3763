/** The keys a list of operations touches, as they stand after each of them, and the changes that lead there. */
import type { Change } from '../../fsm/domain.ts'
import { put, remove } from '../define.ts'
import { inlineBytesMax, type KeyPlace, type KvRow } from './model.ts'
import { keys, kvValues, tombstones } from './table.ts'

/** A key with its value; null: the value is apart and was not read, because it is known to be another. */
export type Entry = { readonly row: KvRow; readonly value: Uint8Array | null }

type Standing = { readonly before: Entry | null; now: Entry | null }

export class Entries {
  readonly #standing = new Map<string, Standing & { readonly place: KeyPlace }>()

  /** What the state holds, read before the first operation; a value read by any reading of the key counts. */
  add(place: KeyPlace, entry: Entry | null): void {
    const name = nameOf(place)
    const known = this.#standing.get(name)
    if (known !== undefined && (known.before?.value ?? null) !== null) return
    this.#standing.set(name, { place, before: entry, now: entry })
  }

  get(place: KeyPlace): Entry | null {
    return this.#standing.get(nameOf(place))?.now ?? null
  }

  set(place: KeyPlace, entry: Entry | null): void {
    const standing = this.#standing.get(nameOf(place))
    if (standing !== undefined) standing.now = entry
    else this.#standing.set(nameOf(place), { place, before: null, now: entry })
  }

  /** The keys below a prefix that are there, in no order. */
  *below({ namespace, key }: KeyPlace): Generator<Entry> {
    for (const { place, now } of this.#standing.values()) {
      if (now !== null && place.namespace === namespace && place.key.startsWith(key)) yield now
    }
  }

  changes(index: number, nowMs: number): Change[] {
    const changes: Change[] = []
    for (const { place, before, now } of this.#standing.values()) {
      if (now === before) continue
      if (now !== null) changes.push(...changesOfPut(before, now))
      else if (before !== null) changes.push(...changesOfDelete(place, before.row, index, nowMs))
    }
    return changes
  }
}

export function changesOfDelete(
  { namespace, key }: KeyPlace,
  row: KvRow,
  index: number,
  nowMs: number,
): Change[] {
  const { lockIndex } = row
  const mark = put(tombstones, { namespace, key, index, lockIndex, timeMs: nowMs })
  const changes = [remove(keys, [namespace, key]), mark]
  if (row.value === null) changes.push(remove(kvValues, [namespace, key]))
  return changes
}

function changesOfPut(before: Entry | null, { row, value }: Entry): Change[] {
  const { namespace, key } = row
  const changes = [put(keys, row)]
  if (row.value === null && value !== null) changes.push(put(kvValues, { namespace, key, value }))
  if (row.value !== null && before?.row.value === null) {
    changes.push(remove(kvValues, [namespace, key]))
  }
  return changes
}

/** Where a value stands: with its key when it is short. */
export function inlineOf(value: Uint8Array): Uint8Array | null {
  return value.byteLength <= inlineBytesMax ? value : null
}

function nameOf({ namespace, key }: KeyPlace): string {
  return `${namespace}\x00${key}`
}
