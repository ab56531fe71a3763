/**
 * The terms of a log's entries, as runs of one term: few, because a term is a leadership.
 *
 * Two arrays of numbers and no object for each run. Such an object would live as long as its term, and V8 may change the
 * layout of its kind later (a field of small integers becomes one of doubles). An object that nothing writes to keeps the old
 * layout, and every function that reads it is then optimized and thrown away again, for as long as the server runs.
 *
 * Invariants: terms and first indexes ascend.
 */
import { assert } from '../../lib/assert.ts'
import type { LogIndex, Term } from './message.ts'

/** A stretch of entries of one term: the entries from `firstIndex` up to the next run are of `term`. */
export type TermRun = { readonly term: Term; readonly firstIndex: LogIndex }

export class TermRuns {
  #terms: Term[]
  #firsts: LogIndex[]

  constructor(runs: readonly TermRun[]) {
    this.#terms = runs.map(({ term }) => term)
    this.#firsts = runs.map(({ firstIndex }) => firstIndex)
  }

  list(): readonly TermRun[] {
    return this.#firsts.map((firstIndex, at) => ({ term: this.#terms[at] ?? 0, firstIndex }))
  }

  /** Of the oldest run; undefined when there is none. */
  get firstIndex(): LogIndex | undefined {
    return this.#firsts[0]
  }

  /** Undefined before the first run. */
  termAt(index: LogIndex): Term | undefined {
    return this.#terms[this.#runOf(index)]
  }

  /** The first entry of the run that `index` is in; undefined before the first run. */
  startOf(index: LogIndex): LogIndex | undefined {
    return this.#firsts[this.#runOf(index)]
  }

  append(index: LogIndex, term: Term): void {
    const newest = this.#terms.at(-1)
    assert(newest === undefined || term >= newest, 'terms never fall along the log')
    if (term === newest) return
    this.#terms.push(term)
    this.#firsts.push(index)
  }

  /** The entries from `from` on are gone. */
  truncate(from: LogIndex): void {
    const kept = this.#runOf(from - 1) + 1
    this.#terms.length = kept
    this.#firsts.length = kept
  }

  /** The entries before `from` are gone; the last one left is `lastIndex`. */
  compact(from: LogIndex, lastIndex: LogIndex): void {
    if (from > lastIndex) {
      this.clear()
      return
    }
    const gone = Math.max(0, this.#runOf(from))
    this.#terms = this.#terms.slice(gone)
    this.#firsts = this.#firsts.slice(gone)
    const first = this.#firsts[0]
    if (first !== undefined && first < from) this.#firsts[0] = from
  }

  clear(): void {
    this.#terms = []
    this.#firsts = []
  }

  /** -1 before the first run. The newest are asked for most. */
  #runOf(index: LogIndex): number {
    let at = this.#firsts.length - 1
    while (at >= 0 && (this.#firsts[at] ?? 0) > index) at -= 1
    return at
  }
}
