/**
 * The keys that changed lately and the index of their last change: tells a reader that comes back with an old index
 * whether anything it reads has changed since, although its table has.
 */
import type { Touched } from './touched.ts'

export class RecentChanges {
  readonly #max: number
  /** A ring, in index order: `#keys[n]` changed at `#indexes[n]`. */
  readonly #keys: string[] = []
  readonly #indexes: number[] = []
  #next = 0
  /** All changes after this index are in the ring. */
  #knownFrom: number

  constructor(max: number, index: number) {
    this.#max = max
    this.#knownFrom = index
  }

  add(index: number, key: string): void {
    const place = this.#next
    this.#knownFrom = Math.max(this.#knownFrom, this.#indexes[place] ?? 0)
    this.#keys[place] = key
    this.#indexes[place] = index
    this.#next = (place + 1) % this.#max
  }

  /** Everything may have changed at `index`. */
  forget(index: number): void {
    this.#keys.length = 0
    this.#indexes.length = 0
    this.#next = 0
    this.#knownFrom = index
  }

  changedSince(index: number, touched: Touched): boolean | 'unknown' {
    if (index < this.#knownFrom) return 'unknown'
    const prefixes = [...touched.prefixes]
    // Backwards from the newest: what is older than `index` is not looked at.
    for (let step = 1; step <= this.#keys.length; step += 1) {
      const place = (this.#next - step + this.#max) % this.#max
      if ((this.#indexes[place] ?? 0) <= index) return false
      const key = this.#keys[place]
      if (key === undefined) return false
      if (touched.keys.has(key) || prefixes.some((prefix) => key.startsWith(prefix))) return true
    }
    return false
  }
}
