/**
 * A map for entries that come and go thousands of times a second: requests in flight, callers that wait for an answer.
 *
 * When a `Map` of V8 rehashes, the table it had goes on pointing to the next one, for iterators, and to the entries that were in
 * it. Once such a table has grown old, the collector of young objects takes all the tables after it for living, and with them
 * every request that ever was in one: they are copied twice and pile up until a full collection. Here a value lies in a cell that
 * is emptied when its entry goes, so that what piles up are empty cells. Keys should be small for the same reason.
 */
type Cell<Value> = { value: Value | null }

export class ChurnMap<Key, Value extends object> {
  readonly #cells = new Map<Key, Cell<Value>>()

  get size(): number {
    return this.#cells.size
  }

  has(key: Key): boolean {
    return this.#cells.has(key)
  }

  get(key: Key): Value | undefined {
    return this.#cells.get(key)?.value ?? undefined
  }

  set(key: Key, value: Value): void {
    const cell = this.#cells.get(key)
    if (cell === undefined) this.#cells.set(key, { value })
    else cell.value = value
  }

  /** Removes the entry and returns what it held. */
  take(key: Key): Value | undefined {
    const cell = this.#cells.get(key)
    if (cell === undefined) return undefined
    const { value } = cell
    cell.value = null
    this.#cells.delete(key)
    return value ?? undefined
  }

  keys(): IterableIterator<Key> {
    return this.#cells.keys()
  }

  /** Entries may go while it is iterated; those are not met any more. */
  *entries(): Generator<readonly [Key, Value]> {
    for (const [key, { value }] of this.#cells) if (value !== null) yield [key, value]
  }
}
