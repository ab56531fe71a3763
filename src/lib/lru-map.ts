/**
 * A map with at most `entriesMax` entries. At the bound, `set` evicts the least recently used one.
 *
 * An entry that leaves is emptied, so that no table of a rehashed `Map` and no other entry keeps its value or its neighbours
 * reachable: see `churn-map.ts`.
 */
type Entry<Key, Value> = {
  readonly key: Key
  value: Value | undefined
  newer: Entry<Key, Value> | null
  older: Entry<Key, Value> | null
}

export class LruMap<Key, Value> {
  readonly #entriesMax: number
  readonly #entries = new Map<Key, Entry<Key, Value>>()
  #newest: Entry<Key, Value> | null = null
  #oldest: Entry<Key, Value> | null = null

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  /** Counts as a use. */
  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (entry !== this.#newest) {
      this.#unlink(entry)
      this.#link(entry)
    }
    return entry.value
  }

  set(key: Key, value: Value): void {
    this.delete(key)
    if (this.#oldest !== null && this.#entries.size >= this.#entriesMax) {
      this.delete(this.#oldest.key)
    }
    const entry = { key, value, newer: null, older: null }
    this.#entries.set(key, entry)
    this.#link(entry)
  }

  delete(key: Key): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#unlink(entry)
    entry.value = undefined
  }

  clear(): void {
    for (const key of this.#entries.keys()) this.delete(key)
  }

  #link(entry: Entry<Key, Value>): void {
    entry.older = this.#newest
    if (this.#newest === null) this.#oldest = entry
    else this.#newest.newer = entry
    this.#newest = entry
  }

  #unlink(entry: Entry<Key, Value>): void {
    const { newer, older } = entry
    if (newer === null) this.#newest = older
    else newer.older = older
    if (older === null) this.#oldest = newer
    else older.newer = newer
    entry.newer = null
    entry.older = null
  }
}
