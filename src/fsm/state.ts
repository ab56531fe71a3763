/**
 * One state of the machine: the store, and on top of it the batches that are applied but still on their way into it.
 * A `State` never changes in content. While it is the newest it is read straight from the store; the moment before a
 * later batch is written, one that still has readers is pinned to a LevelDB snapshot.
 */
import { setImmediate } from 'node:timers/promises'
import { MusterError } from '../lib/errors.ts'
import type { Configuration } from '../raft/core/message.ts'
import type { Caches } from './caches.ts'
import { knownKey, type KnownKey } from './key-set.ts'
import { compareEncoded, generationPrefix } from './keys.ts'
import { unpack } from './codec.ts'
import type { Generations } from './meta.ts'
import { pageRowsMax } from './store.ts'
import type { Rows, Store, StoreIterator, StoreSnapshot } from './store.ts'
import { wholeRange, type KeyRange } from './table.ts'

/** How far a state is; the part of it that is not rows. */
export type Position = {
  readonly appliedIndex: number
  readonly appliedTerm: number
  readonly configuration: Configuration
  readonly configurationIndex: number
  readonly generations: Generations
  /** That the cluster runs at, see `cluster-version.ts`. */
  readonly commandVersion: number
  /** See `counter-floor.ts`. */
  readonly counterFloor: number
  readonly floorIndex: number
  /** By table name; a table that is not in it was never written since `floorIndex`. */
  readonly tableIndexes: ReadonlyMap<string, number>
}

/** Of so many rows that an index named at once, those that were decoded are kept: of a long list none is read again soon. */
const keptRowsMax = 64

const fewRows = 64

/** A page of (key without generation, value), in key order. Keys are empty where they were not asked for. */
export type Page = readonly (readonly [key: string, value: Uint8Array])[]

export class State {
  readonly store: Store
  readonly position: Position
  /** In front of every key of a table. */
  readonly generationPrefix: string
  readonly caches: Caches
  /** Oldest first. May hold batches that the store has by now: the same rows. */
  #overlays: readonly Rows[]
  #readers = 0
  #snapshot: StoreSnapshot | null = null
  #superseded = false

  /** `caches`: of this store alone. */
  constructor(store: Store, position: Position, overlays: readonly Rows[], caches: Caches) {
    this.store = store
    this.position = position
    this.generationPrefix = generationPrefix(position.generations.current)
    this.#overlays = overlays
    this.caches = caches
  }

  /** Keeps this state readable until `release`, whatever is applied meanwhile. Throws `unavailable` when it is too late. */
  retain(): void {
    if (this.#superseded && this.#readers === 0) {
      throw new MusterError('unavailable', 'the state this read began on is gone; read again')
    }
    this.#readers += 1
  }

  release(): void {
    this.#readers -= 1
    if (this.#readers > 0 || this.#snapshot === null) return
    const snapshot = this.#snapshot
    this.#snapshot = null
    // Closing a snapshot is synchronous inside; it cannot fail, and after the store was closed it is closed already.
    void snapshot.close().catch(() => {})
  }

  /** Called before anything newer is written to the store. */
  supersede(): void {
    this.#superseded = true
    if (this.#readers > 0) this.#pin()
  }

  /** The oldest batches are in the store. A pinned state keeps them: its snapshot may be older. */
  landed(overlays: readonly Rows[]): void {
    if (this.#snapshot === null) this.#overlays = overlays
  }

  /** The decoded row at the key `full`, generation in front. It is shared: not to be changed. */
  row(full: string): unknown {
    const { appliedIndex } = this.position
    const kept = this.caches.rows.get(full, appliedIndex)
    if (kept !== undefined) return kept
    if (this.caches.rows.isAbsent(full, appliedIndex)) return undefined
    const changed = this.#overlaid(full)
    const bytes = changed === undefined ? this.store.get(full, this.#snapshot) : changed
    if (bytes === undefined || bytes === null) {
      if (!this.#superseded) this.caches.rows.addAbsent(full, appliedIndex)
      return undefined
    }
    return this.#kept(full, bytes)
  }

  /**
   * The decoded rows at many keys without generation, undefined where there is none; what the cache does not have is read off the
   * event loop. `extra`: as of `pages`. They are shared: not to be changed. Call it on a retained state.
   */
  async rows(keys: readonly string[], extra?: Rows): Promise<readonly unknown[]> {
    const { appliedIndex } = this.position
    const found: unknown[] = []
    const missing: { readonly at: number; readonly full: string }[] = []
    const isShort = keys.length <= keptRowsMax
    const decoded = (full: string, bytes: Uint8Array): unknown =>
      isShort ? this.#kept(full, bytes) : unpack(bytes)
    for (const [at, key] of keys.entries()) {
      const full = this.generationPrefix + key
      const extraBytes = extra?.get(full)
      if (extraBytes !== undefined) {
        found[at] = extraBytes === null ? undefined : unpack(extraBytes)
        continue
      }
      found[at] = this.caches.rows.get(full, appliedIndex)
      if (found[at] !== undefined) continue
      const bytes = this.#overlaid(full)
      if (bytes === undefined) missing.push({ at, full })
      else if (bytes !== null) found[at] = decoded(full, bytes)
    }
    if (missing.length === 0) return found
    const read = await this.store.getMany(
      missing.map(({ full }) => full),
      this.#pin(),
    )
    for (const [position, { at, full }] of missing.entries()) {
      const bytes = read[position]
      if (bytes !== undefined) found[at] = decoded(full, bytes)
    }
    return found
  }

  /**
   * The keys of a range, in order; null: they are not in memory, or more than `keysMax`, so `pages` reads them. `extra`: as of `pages`.
   */
  known(range: KeyRange, keysMax: number, extra?: Rows): readonly KnownKey[] | null {
    const { appliedIndex } = this.position
    const front = this.generationPrefix
    const { keySets } = this.caches
    const found = keySets.find(range, front, { appliedIndex, keysMax })
    if (found === 'unknown' && !this.#superseded) {
      const { base } = range
      const read = (): AsyncIterable<Page> => this.pages(wholeRange(base), true)
      keySets.missed({ base, front, appliedIndex, read })
    }
    if (typeof found === 'string') return null
    if (extra === undefined) return found
    const changes = overlaidRange([extra], front + range.prefix, front + range.from)
    return changes.length === 0 ? found : withChanges(found, changes, front + range.base)
  }

  /**
   * Rows of a range in pages, with other work between them; the state is retained from the first page to the last.
   * `extra` lies over everything: the rows of a batch that is being built. `firstRowsMax`: fetched for the first page.
   */
  async *pages(
    range: KeyRange,
    withKeys: boolean,
    extra?: Rows,
    firstRowsMax = pageRowsMax,
  ): AsyncGenerator<Page> {
    const front = this.generationPrefix
    const prefix = front + range.prefix
    const from = front + range.from
    // Both taken in one turn: together they are this state, whatever lands in the store later.
    const overlays = extra === undefined ? this.#overlays : [...this.#overlays, extra]
    const changes = overlaidRange(overlays, prefix, from)
    const merging = changes.length > 0
    const keys = withKeys || merging
    this.retain()
    let iterator: StoreIterator | null = null
    try {
      iterator = this.store.iterator({ from, prefix, keys, snapshot: this.#snapshot })
      const merge = merging ? new Merge(changes) : null
      for (let rowsMax = firstRowsMax; ; rowsMax = pageRowsMax) {
        const stored = await this.store.nextPage(iterator, rowsMax)
        const ended = stored.length === 0
        const page: Page =
          merge === null
            ? stored.map(([key, value]) => [
                withKeys ? key.toString().slice(front.length) : '',
                value,
              ])
            : merge.next(stored, front.length)
        for (let start = 0; start < page.length; start += pageRowsMax) {
          yield page.length <= pageRowsMax ? page : page.slice(start, start + pageRowsMax)
          // A few rows are less work than the turn.
          if (page.length > fewRows) await setImmediate()
        }
        if (ended) return
      }
    } finally {
      await iterator?.close()
      this.release()
    }
  }

  /** The row of these bytes, which this state has at `full`; the next read finds it decoded. */
  #kept(full: string, bytes: Uint8Array): unknown {
    const row = unpack(bytes)
    // For an older state it is unknown here whether the row has changed since.
    if (!this.#superseded)
      this.caches.rows.add(full, bytes.byteLength, row, this.position.appliedIndex)
    return row
  }

  #overlaid(full: string): Uint8Array | null | undefined {
    for (let position = this.#overlays.length - 1; position >= 0; position -= 1) {
      const value = this.#overlays[position]?.get(full)
      if (value !== undefined) return value
    }
    return undefined
  }

  #pin(): StoreSnapshot {
    this.#snapshot ??= this.store.snapshot()
    return this.#snapshot
  }
}

type Change = readonly [key: string, value: Uint8Array | null]

/** What the overlays hold of a range, newest value of each key, in key order. */
function overlaidRange(overlays: readonly Rows[], prefix: string, from: string): readonly Change[] {
  const found = new Map<string, Uint8Array | null>()
  for (const rows of overlays) {
    for (const [key, value] of rows) {
      if (key.startsWith(prefix) && compareEncoded(key, from) >= 0) found.set(key, value)
    }
  }
  return [...found].sort(([left], [right]) => compareEncoded(left, right))
}

/** `base`: what all keys of the table or index begin with, generation in front. */
function withChanges(
  known: readonly KnownKey[],
  changes: readonly Change[],
  base: string,
): readonly KnownKey[] {
  const all = new Map(known.map((key) => [key.full, key]))
  for (const [full, value] of changes) {
    if (value === null) all.delete(full)
    else all.set(full, knownKey(full, base, value))
  }
  return [...all.values()].sort((left, right) => compareEncoded(left.full, right.full))
}

/** Puts changes between and over stored rows, page by page. */
class Merge {
  readonly #changes: readonly Change[]
  #position = 0

  constructor(changes: readonly Change[]) {
    this.#changes = changes
  }

  /** An empty `stored` is the end: what is left of the changes comes now. */
  next(stored: readonly (readonly [Buffer, Uint8Array])[], frontLength: number): Page {
    const page: (readonly [string, Uint8Array])[] = []
    for (const [keyBytes, value] of stored) {
      const key = keyBytes.toString()
      const replaced = this.#takeUpTo(key, page, frontLength)
      if (!replaced) page.push([key.slice(frontLength), value])
    }
    if (stored.length === 0) this.#takeUpTo(null, page, frontLength)
    return page
  }

  /** Moves changes up to `key` onto the page; whether one of them was of `key` itself. */
  #takeUpTo(
    key: string | null,
    page: (readonly [string, Uint8Array])[],
    frontLength: number,
  ): boolean {
    for (;;) {
      const change = this.#changes[this.#position]
      if (change === undefined) return false
      const order = key === null ? -1 : compareEncoded(change[0], key)
      if (order > 0) return false
      this.#position += 1
      if (change[1] !== null) page.push([change[0].slice(frontLength), change[1]])
      if (order === 0) return true
    }
  }
}
