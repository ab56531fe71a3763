/**
 * The log as the core sees it: the terms of all entries that exist, and the entries themselves as far as memory goes.
 *
 *   base.index <= … entries on disk only … < window … <= lastIndex
 *
 * Invariants: `base.index <= commitIndex <= lastIndex`; `persistedIndex <= lastIndex`;
 * entries not handed to the disk yet are always in the window; nothing at or below `commitIndex` is ever cut.
 */
import { assert, present } from '../../lib/assert.ts'
import type { Entry, LogIndex, Term } from './message.ts'
import { TermRuns, type TermRun } from './term-runs.ts'

/** Entries that no follower is known to need and that are kept: after an election a follower may be a little behind. */
const spareEntries = 256
/** Of the window; over it none is spare. */
const spareBytesMax = 1 << 20

export type LogStart = {
  readonly base: { readonly index: LogIndex; readonly term: Term }
  readonly lastIndex: LogIndex
  readonly termRuns: readonly TermRun[]
  readonly tail: readonly Entry[]
}

export class RaftLog {
  #base: { index: LogIndex; term: Term }
  readonly #runs: TermRuns
  /** Entries by position: `#window[i]` has index `#windowFirst + i`; the last one is `lastIndex`. */
  #window: Entry[]
  #windowFirst: LogIndex
  #windowBytes: number
  /** First entry that the disk was not asked to write yet. */
  #nextToWrite: LogIndex
  #truncateFrom: LogIndex | null = null
  commitIndex: LogIndex
  /** Everything up to here is on this server's own disk. */
  persistedIndex: LogIndex

  constructor(start: LogStart) {
    this.#base = { ...start.base }
    this.#runs = new TermRuns(start.termRuns)
    this.#window = [...start.tail]
    this.#windowFirst = start.lastIndex - start.tail.length + 1
    this.#windowBytes = start.tail.reduce((sum, entry) => sum + bytesOf(entry), 0)
    this.#nextToWrite = start.lastIndex + 1
    this.commitIndex = start.base.index
    this.persistedIndex = start.lastIndex
    const first = start.tail[0]
    assert(first === undefined || first.index === this.#windowFirst, 'the tail ends at lastIndex')
  }

  get baseIndex(): LogIndex {
    return this.#base.index
  }

  get lastIndex(): LogIndex {
    return this.#windowFirst + this.#window.length - 1
  }

  get lastTerm(): Term {
    return present(this.termAt(this.lastIndex), 'the term of the last entry')
  }

  /** The term of the entry at `index`; undefined when the log does not reach there (any more). 0 for index 0. */
  termAt(index: LogIndex): Term | undefined {
    if (index === this.#base.index) return this.#base.term
    if (index < this.#base.index || index > this.lastIndex) return undefined
    return this.#runs.termAt(index)
  }

  /** Raft's comparison of logs for votes (3.6.1): later term wins, then the longer log. */
  isUpToDate(lastIndex: LogIndex, lastTerm: Term): boolean {
    const own = this.lastTerm
    return lastTerm > own || (lastTerm === own && lastIndex >= this.lastIndex)
  }

  /**
   * The greatest index at or below `index` whose term is at or below `term`: where two logs can agree at the latest.
   * It skips whole terms, so finding the common point takes one message per term, not one per entry.
   */
  latestNotAbove(index: LogIndex, term: Term): LogIndex {
    let candidate = Math.min(index, this.lastIndex)
    while (candidate > this.#base.index) {
      const at = present(this.termAt(candidate), 'the term of an entry in the log')
      if (at <= term) return candidate
      candidate = present(this.#runs.startOf(candidate), 'the run of an entry in the log') - 1
    }
    return candidate
  }

  /** Entries [from, to] if all of them are in memory, else undefined. At least one, then while they fit. */
  slice(from: LogIndex, to: LogIndex, bytesMax: number): readonly Entry[] | undefined {
    if (from < this.#windowFirst) return undefined
    const start = from - this.#windowFirst
    const end = Math.min(to, this.lastIndex) - this.#windowFirst
    let bytes = 0
    let stop = start
    while (stop <= end) {
      bytes += bytesOf(this.#window[stop])
      if (bytes > bytesMax && stop > start) break
      stop += 1
    }
    return this.#window.slice(start, stop)
  }

  append(entry: Entry): void {
    assert(entry.index === this.lastIndex + 1, 'entries are appended without a gap')
    assert(entry.term >= this.#base.term, 'terms never fall along the log')
    this.#runs.append(entry.index, entry.term)
    this.#window.push(entry)
    this.#windowBytes += bytesOf(entry)
  }

  /** Cuts off the entries from `from` on; only ever done to entries that conflict with a leader's. */
  truncate(from: LogIndex): void {
    assert(from > this.commitIndex, 'a committed entry is never cut off')
    assert(from <= this.lastIndex, 'only what exists is cut off')
    if (from < this.#nextToWrite) {
      this.#truncateFrom = Math.min(from, this.#truncateFrom ?? from)
      this.#nextToWrite = from
    }
    this.persistedIndex = Math.min(this.persistedIndex, from - 1)
    this.#runs.truncate(from)
    if (from >= this.#windowFirst) {
      for (const gone of this.#window.splice(from - this.#windowFirst)) {
        this.#windowBytes -= bytesOf(gone)
      }
    } else {
      this.#window = []
      this.#windowFirst = from
      this.#windowBytes = 0
    }
  }

  /** What the disk was not asked to do yet. */
  takeWrites(): { truncateFrom: LogIndex | null; entries: readonly Entry[] } {
    const truncateFrom = this.#truncateFrom
    const entries = this.#window.slice(this.#nextToWrite - this.#windowFirst)
    this.#truncateFrom = null
    this.#nextToWrite = this.lastIndex + 1
    return { truncateFrom, entries }
  }

  hasWrites(): boolean {
    return this.#truncateFrom !== null || this.#nextToWrite <= this.lastIndex
  }

  /** The entry at `index` of `term` and everything before it is durable; stale reports are ignored. */
  persisted(index: LogIndex, term: Term): void {
    if (this.termAt(index) === term && index > this.persistedIndex) this.persistedIndex = index
  }

  /** Everything up to `index` is in a durable state and may be gone from the disk's log. */
  compacted(index: LogIndex, term: Term): void {
    if (index <= this.#base.index) return
    assert(index <= this.commitIndex, 'only committed entries are compacted')
    assert(this.termAt(index) === term, 'a compaction agrees with the log')
    this.#base = { index, term }
    this.#runs.compact(index + 1, this.lastIndex)
    this.#dropWindowBefore(index + 1)
  }

  /** A snapshot took the place of everything. */
  reset(index: LogIndex, term: Term): void {
    this.#base = { index, term }
    this.#runs.clear()
    this.#window = []
    this.#windowFirst = index + 1
    this.#windowBytes = 0
    this.#nextToWrite = index + 1
    this.#truncateFrom = null
    this.commitIndex = index
    this.persistedIndex = index
  }

  /**
   * Lets go of entries that are on disk, oldest first: of those before `wantedFrom` all but the last few, which are not large
   * either, and of the rest as many as it takes to fit `bytesMax`. What is kept for nothing is not free: objects that live for a
   * while are copied by the collector, and the pages they leave are given back and fetched anew (docs/performance.md).
   */
  shrink(wantedFrom: LogIndex, bytesMax: number): void {
    const spareFrom = wantedFrom - spareEntries
    let bytes = this.#windowBytes
    let first = this.#windowFirst
    while (
      (first < spareFrom || (first < wantedFrom && bytes > spareBytesMax) || bytes > bytesMax) &&
      first <= this.persistedIndex &&
      first < this.#nextToWrite
    ) {
      bytes -= bytesOf(this.#window[first - this.#windowFirst])
      first += 1
    }
    // Moving the rest of the array costs its length, so it is done when an eighth has gathered.
    if (first - this.#windowFirst > this.#window.length >> 3) this.#dropWindowBefore(first)
  }

  #dropWindowBefore(index: LogIndex): void {
    const count = Math.min(index - this.#windowFirst, this.#window.length)
    if (count <= 0) return
    for (let i = 0; i < count; i += 1) this.#windowBytes -= bytesOf(this.#window[i])
    this.#window = this.#window.slice(count)
    this.#windowFirst += count
  }
}

/** What an entry counts for in bounds: its data and a flat share for the object around it. */
export function bytesOf(entry: Entry | undefined): number {
  return entry === undefined ? 0 : entry.data.length + 64
}
