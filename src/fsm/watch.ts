/**
 * Parks readers on exactly what they read, and wakes those whose rows changed.
 *
 * A parked reader is filed under each key it read and each prefix it scanned. A changed key is looked up once as it is and
 * once for each length that parked prefixes have, so its cost does not grow with the number of readers parked elsewhere.
 */
import { MusterError } from '../lib/errors.ts'
import { RecentChanges } from './recent-changes.ts'
import type { Touched } from './touched.ts'

export type WatchLimits = {
  /** Readers parked at a time; beyond it `park` throws `overloaded`. */
  readonly parkedMax: number
  /** Changed keys remembered for readers that come back. */
  readonly recentMax: number
}

export const watchLimits: WatchLimits = { parkedMax: 100_000, recentMax: 32_768 }

/**
 * Readers woken in one turn of the event loop: very many readers of one row would otherwise hold up the write that wakes
 * them, and the news of it to the other servers.
 */
const wakesPerTurn = 256

/** Empty once it left: sets that it was in may be kept for longer, see `lib/churn-map.ts`. */
type Parked = {
  reader: { readonly touched: Touched; readonly wake: () => void } | null
  /** Its change has come: the next ones need not wake it again. */
  due: boolean
}

type Shelf = Map<string, Set<Parked>>

export class Watches {
  readonly #limits: WatchLimits
  readonly #recent: RecentChanges
  readonly #parked = new Set<Parked>()
  readonly #byKey: Shelf = new Map()
  /** By length of the prefix, then by prefix. */
  readonly #byPrefix = new Map<number, Shelf>()
  /** Readers whose change has come and whose turn has not, and the turn itself. */
  readonly #due: Parked[] = []
  #turn: NodeJS.Immediate | null = null
  #lookups = 0
  #wakes = 0

  /** `index`: how far the state is; what changed before is not known. */
  constructor(index: number, limits: WatchLimits = watchLimits) {
    this.#limits = limits
    this.#recent = new RecentChanges(limits.recentMax, index)
  }

  /** Readers parked now, and work done since the start. */
  stats(): { readonly parked: number; readonly lookups: number; readonly wakes: number } {
    return { parked: this.#parked.size, lookups: this.#lookups, wakes: this.#wakes }
  }

  /** Whether anything touched changed after `index`. unknown: that is longer ago than is remembered. */
  changedSince(index: number, touched: Touched): boolean | 'unknown' {
    return this.#recent.changedSince(index, touched)
  }

  /**
   * Calls `wake` once, never inside of this call, when something touched changes after `sinceIndex`, or has already.
   * Returns the way to leave. Throws `overloaded` at `parkedMax`.
   */
  park(touched: Touched, sinceIndex: number, wake: () => void): () => void {
    if (this.#parked.size >= this.#limits.parkedMax) {
      throw new MusterError(
        'overloaded',
        `${this.#limits.parkedMax} readers wait for changes here already; try another server or later`,
      )
    }
    const parked: Parked = { reader: { touched, wake }, due: false }
    this.#file(parked, touched)
    if (this.changedSince(sinceIndex, touched) !== false) {
      queueMicrotask(() => this.#wake(parked))
    }
    return () => this.#remove(parked)
  }

  /** Notes the keys that the entry at `index` changed, and wakes who read them. */
  changed(index: number, keys: readonly string[]): void {
    this.#recent.add(index, keys)
    if (this.#parked.size === 0) return
    for (const key of keys) {
      const found = this.#readersOf(key)
      if (found !== null) this.#wakeAll(found)
    }
  }

  /** Everything may have changed with `index`: a restore, an installed snapshot. */
  allChanged(index: number): void {
    this.#recent.forget(index)
    this.#wakeAll(new Set(this.#parked))
  }

  /** As `allChanged`, for the last time: no reader is left waiting for a turn. */
  close(index: number): void {
    this.#recent.forget(index)
    if (this.#turn !== null) clearImmediate(this.#turn)
    this.#turn = null
    this.#due.length = 0
    for (const parked of this.#parked) this.#wake(parked)
  }

  /** Null when there are none, which is the common case. */
  #readersOf(key: string): Set<Parked> | null {
    this.#lookups += 1
    let readers = union(null, this.#byKey.get(key))
    for (const [length, shelf] of this.#byPrefix) {
      if (length > key.length) continue
      this.#lookups += 1
      readers = union(readers, shelf.get(key.slice(0, length)))
    }
    return readers
  }

  /** Takes a set of its own: a woken reader may park again at once. */
  #wakeAll(readers: ReadonlySet<Parked>): void {
    for (const parked of readers) {
      if (parked.due) continue
      parked.due = true
      this.#due.push(parked)
    }
    if (this.#turn === null) this.#wakeSome()
  }

  #wakeSome(): void {
    for (const parked of this.#due.splice(0, wakesPerTurn)) this.#wake(parked)
    this.#turn = this.#due.length === 0 ? null : setImmediate(() => this.#wakeSome())
  }

  #wake(parked: Parked): void {
    const { reader } = parked
    if (reader === null) return
    this.#remove(parked)
    this.#wakes += 1
    reader.wake()
  }

  #file(parked: Parked, touched: Touched): void {
    this.#parked.add(parked)
    for (const key of touched.keys) put(this.#byKey, key, parked)
    for (const prefix of touched.prefixes) {
      let shelf = this.#byPrefix.get(prefix.length)
      if (shelf === undefined) {
        shelf = new Map()
        this.#byPrefix.set(prefix.length, shelf)
      }
      put(shelf, prefix, parked)
    }
  }

  #remove(parked: Parked): void {
    const { reader } = parked
    if (reader === null) return
    parked.reader = null
    this.#parked.delete(parked)
    for (const key of reader.touched.keys) take(this.#byKey, key, parked)
    for (const prefix of reader.touched.prefixes) {
      const shelf = this.#byPrefix.get(prefix.length)
      if (shelf === undefined) continue
      take(shelf, prefix, parked)
      if (shelf.size === 0) this.#byPrefix.delete(prefix.length)
    }
  }
}

function put(shelf: Shelf, key: string, parked: Parked): void {
  const found = shelf.get(key)
  if (found === undefined) shelf.set(key, new Set([parked]))
  else found.add(parked)
}

function take(shelf: Shelf, key: string, parked: Parked): void {
  const found = shelf.get(key)
  found?.delete(parked)
  if (found?.size === 0) shelf.delete(key)
}

function union(into: Set<Parked> | null, found: ReadonlySet<Parked> | undefined) {
  if (found === undefined) return into
  if (into === null) return new Set(found)
  for (const parked of found) into.add(parked)
  return into
}
