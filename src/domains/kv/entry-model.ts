/** The keys a list of operations touches, as they stand after each of them, and the changes that lead there. */
import { counterFloorVersion } from '../../fsm/counter-floor.ts'
import type { Change } from '../../fsm/domain.ts'
import { put, remove } from '../define.ts'
import { Deletions } from './deletion-model.ts'
import { inlineBytesMax, type KeyPlace, type KvRow } from './model.ts'
import { keys, kvValues } from './table.ts'

/** A key with its value; null: the value is apart and was not read, because it is known to be another. */
export type Entry = { readonly row: KvRow; readonly value: Uint8Array | null }

/** What is written of a key with the first change of it, before that; see `held-queries.ts`. */
export type Unwritten = readonly Change[]

type Standing = {
  readonly before: Entry | null
  readonly unwritten: Unwritten
  now: Entry | null
  /** Of the rows that the operations made of the key. */
  highestLockIndex: number
}

export class Entries {
  readonly #standing = new Map<string, Standing & { readonly place: KeyPlace }>()
  /** That the cluster runs at. */
  readonly commandVersion: number

  constructor(commandVersion: number) {
    this.commandVersion = commandVersion
  }

  /** What the state holds, read before the first operation; a value read by any reading of the key counts. */
  add(place: KeyPlace, entry: Entry | null, unwritten: Unwritten = []): void {
    const name = nameOf(place)
    const known = this.#standing.get(name)
    if (known !== undefined && (known.before?.value ?? null) !== null) return
    const standing = { before: entry, unwritten, now: entry, highestLockIndex: 0 }
    this.#standing.set(name, { place, ...standing })
  }

  get(place: KeyPlace): Entry | null {
    return this.#standing.get(nameOf(place))?.now ?? null
  }

  set(place: KeyPlace, entry: Entry | null): void {
    const name = nameOf(place)
    const known = this.#standing.get(name)
    const standing = known ?? {
      place,
      before: null,
      unwritten: [],
      now: null,
      highestLockIndex: 0,
    }
    if (known === undefined) this.#standing.set(name, standing)
    standing.now = entry
    if (entry !== null && this.commandVersion >= counterFloorVersion) {
      standing.highestLockIndex = Math.max(standing.highestLockIndex, entry.row.lockIndex)
    }
  }

  /** Of what the operations made of the key so far, also where it is deleted again. */
  highestLockIndex(place: KeyPlace): number {
    return this.#standing.get(nameOf(place))?.highestLockIndex ?? 0
  }

  /** The keys below a prefix that are there, in no order. */
  *below({ namespace, key }: KeyPlace): Generator<Entry> {
    for (const { place, now } of this.#standing.values()) {
      if (now !== null && place.namespace === namespace && place.key.startsWith(key)) yield now
    }
  }

  changes(index: number, nowMs: number): Change[] {
    const changes = this.#unwritten()
    const deletions = new Deletions(this.commandVersion, { index, timeMs: nowMs })
    for (const { place, before, now, highestLockIndex } of this.#standing.values()) {
      if (now !== null) {
        if (now !== before) changes.push(...changesOfPut(before, now))
        continue
      }
      const lockIndex = Math.max(before?.row.lockIndex ?? 0, highestLockIndex)
      if (before !== null) deletions.add(before.row, lockIndex)
      else deletions.keepLockIndex(place, lockIndex)
    }
    for (const change of deletions.changes()) changes.push(change)
    return changes
  }

  /** Of the keys that change. */
  #unwritten(): Change[] {
    return [...this.#standing.values()]
      .filter(({ before, now, highestLockIndex }) => now !== before || highestLockIndex > 0)
      .flatMap(({ unwritten }) => [...unwritten])
  }
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
