/**
 * All keys of small tables and indexes, so that a read of a short range asks no database: most of those that commands and the
 * scheduler make find nothing, or a row or two that the row cache has.
 *
 * The keys of a table or index are read in the background once it was read from often, and dropped where they grow too many.
 * Invariant: a set has exactly the keys of every state from its `since` to the newest one; a state before that reads past it.
 */
import { KeySet, knownKey, type KnownKey } from './key-set.ts'
import { baseOfKey } from './keys.ts'
import type { Rows } from './store.ts'
import type { KeyRange } from './table.ts'

export type KeySetLimits = {
  /** Of one set. */
  readonly keysMax: number
  /** Of all sets; and of rows that are read for one. */
  readonly bytesMax: number
  /** So often a table or index is read from before its keys are read. */
  readonly missesMin: number
}

const defaultLimits: KeySetLimits = {
  keysMax: 8_192,
  bytesMax: 4 * 1024 * 1024,
  missesMin: 16,
}

/** Keys that were too many are not read again until their table or index was read from so many times as often. */
const patienceFactor = 8

/** The newest state, to read all keys of a table or index from. */
export type KeySource = {
  /** What they begin with, behind the generation. */
  readonly base: string
  readonly front: string
  readonly appliedIndex: number
  /** Keys without generation. Begins in the turn it is called in. */
  readonly read: () => AsyncIterable<readonly (readonly [key: string, value: Uint8Array])[]>
}

/** Keys on their way: wanted as long as it is among the loads. */
type Load = {
  /** By batches since it began. */
  readonly changes: Map<string, Uint8Array | null>
  since: number
}

export class KeySets {
  readonly #limits: KeySetLimits
  /** By base. */
  readonly #sets = new Map<string, KeySet>()
  readonly #loads = new Map<string, Load>()
  readonly #reading = new Set<Promise<void>>()
  readonly #misses = new Map<string, { count: number; due: number }>()
  /** Of the generation that all of them are of. */
  #front = ''
  #isStopped = false

  constructor(limits = defaultLimits) {
    this.#limits = limits
  }

  /** The keys of a range in a state at `appliedIndex`. `unknown`: they are not known here; `long`: they are more than `keysMax`. */
  find(
    { base, prefix, from }: KeyRange,
    front: string,
    { appliedIndex, keysMax }: { readonly appliedIndex: number; readonly keysMax: number },
  ): readonly KnownKey[] | 'long' | 'unknown' {
    const set = this.#sets.get(base)
    if (set === undefined || front !== this.#front || set.since > appliedIndex) return 'unknown'
    return set.between(front + prefix, front + from, keysMax) ?? 'long'
  }

  /** The newest state was read from, and `find` knew nothing. */
  missed(source: KeySource): void {
    const { base, front, appliedIndex } = source
    if (this.#isStopped || this.#loads.has(base)) return
    const misses = this.#misses.get(base) ?? { count: 0, due: this.#limits.missesMin }
    this.#misses.set(base, misses)
    misses.count += 1
    if (misses.count < misses.due) return
    misses.count = 0
    this.#begin(front)
    const load: Load = { changes: new Map(), since: appliedIndex }
    this.#loads.set(base, load)
    const reading = this.#load(source, load)
      // A reader that cannot read it says so.
      .catch(() => {})
      .finally(() => {
        this.#reading.delete(reading)
        if (this.#loads.get(base) === load) this.#loads.delete(base)
      })
    this.#reading.add(reading)
  }

  /** The newest state has these changes, stands at `appliedIndex` and is of the generation of `front`. */
  changed(rows: Rows, front: string, appliedIndex: number): void {
    this.#begin(front)
    if (this.#sets.size + this.#loads.size === 0) return
    let isChanged = false
    for (const [full, value] of rows) {
      const base = baseOfKey(full, front)
      if (base === null) continue
      const set = this.#sets.get(base)
      if (set !== undefined) {
        set.change(full, value, appliedIndex)
        isChanged = true
        continue
      }
      const load = this.#loads.get(base)
      if (load === undefined) continue
      load.changes.set(full, value)
      load.since = appliedIndex
      if (load.changes.size > this.#limits.keysMax) this.#giveUp(base)
    }
    if (isChanged) this.#shed()
  }

  /** Nothing is known any more, nor will be. */
  stop(): void {
    this.#isStopped = true
    this.#forget()
  }

  /** Resolves when nothing is being read. */
  async idle(): Promise<void> {
    await Promise.all(this.#reading)
  }

  async #load({ base, front, read }: KeySource, load: Load): Promise<void> {
    const { keysMax, bytesMax } = this.#limits
    const keys: KnownKey[] = []
    let bytes = 0
    for await (const page of read()) {
      for (const [key, value] of page) {
        keys.push(knownKey(front + key, front + base, value))
        bytes += key.length + value.byteLength
      }
      if (this.#loads.get(base) !== load) return
      if (keys.length > keysMax || bytes > bytesMax) this.#giveUp(base)
    }
    if (this.#loads.get(base) !== load) return
    const set = new KeySet(front + base, keys, load.since)
    for (const [full, value] of load.changes) set.change(full, value, load.since)
    this.#loads.delete(base)
    this.#sets.set(base, set)
    this.#shed()
  }

  /** The longest go first. */
  #shed(): void {
    const { keysMax, bytesMax } = this.#limits
    let bytes = 0
    for (const [base, set] of this.#sets) {
      if (set.length > keysMax) this.#giveUp(base)
      else bytes += set.bytes
    }
    while (bytes > bytesMax) {
      const [longest] = [...this.#sets].toSorted(([, left], [, right]) => right.bytes - left.bytes)
      if (longest === undefined) return
      const [base, set] = longest
      bytes -= set.bytes
      this.#giveUp(base)
    }
  }

  #giveUp(base: string): void {
    this.#sets.delete(base)
    this.#loads.delete(base)
    const misses = this.#misses.get(base)
    if (misses !== undefined) misses.due *= patienceFactor
  }

  /** All is of the generation of `front` from now on. */
  #begin(front: string): void {
    if (front === this.#front) return
    this.#forget()
    this.#front = front
  }

  #forget(): void {
    this.#loads.clear()
    this.#sets.clear()
  }
}
