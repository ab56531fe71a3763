/**
 * What the log says, in memory: its base, its end, the terms of its entries, and in which segment each lies.
 * Recovery and live writes change it through the same `apply`, so a restart arrives where the running log was.
 *
 * Invariants: `base.index <= lastIndex`; every entry in (base.index, lastIndex] lies in exactly one segment;
 * the term runs begin at `base.index + 1`, or there are none.
 */
import { assert, assertNever, present } from '../../lib/assert.ts'
import type { Entry, HardState, LogIndex, SnapshotMeta, Term } from '../core/message.ts'
import { TermRuns, type TermRun } from '../core/term-runs.ts'
import type { Checkpoint, LogRecord } from './record.ts'
import type { Segment } from './segment.ts'

export const emptySnapshot: SnapshotMeta = {
  index: 0,
  term: 0,
  configuration: { clusterId: '', members: [] },
  configurationIndex: 0,
}

export type Location = {
  readonly segment: Segment
  readonly first: LogIndex
  readonly last: LogIndex
}

export class LogMap {
  /** Ascending and without gaps; each holds at least one frame, and the last takes the next one. */
  readonly segments: Segment[] = []
  base: SnapshotMeta = emptySnapshot
  hardState: HardState = { term: 0, votedFor: null, commitIndex: 0 }
  lastIndex: LogIndex = 0
  readonly #runs = new TermRuns([])
  #configurations: Entry[] = []
  #empty = true

  get termRuns(): readonly TermRun[] {
    return this.#runs.list()
  }

  get configurations(): readonly Entry[] {
    return this.#configurations
  }

  /** A broken assertion here means that frames are missing or that their writer was wrong. */
  apply(record: LogRecord, segment: Segment, offset: number): void {
    switch (record.type) {
      case 'entry':
        this.#append(record.entry, segment, offset)
        return
      case 'hardState':
        this.hardState = record.hardState
        return
      case 'truncation':
        this.#truncate(record.from)
        return
      case 'base':
        this.#raiseBase(record.base)
        return
      case 'checkpoint':
        this.#begin(record)
        return
      default:
        assertNever(record)
    }
  }

  checkpoint(): Checkpoint {
    return {
      type: 'checkpoint',
      reset: false,
      base: this.base,
      hardState: this.hardState,
      lastIndex: this.lastIndex,
      lastTerm: present(this.termAt(this.lastIndex), 'the term of the last entry'),
    }
  }

  /** Null for entries outside the log, and while recovery has not reached their segment's successor. */
  termAt(index: LogIndex): Term | null {
    if (index === this.base.index) return this.base.term
    if (index > this.lastIndex) return null
    return this.#runs.termAt(index) ?? null
  }

  /** The first entry that lies in this segment or a later one; one past the end when there is none. */
  firstIndexFrom(position: number): LogIndex {
    for (let at = position; at < this.segments.length; at++) {
      const entries = present(this.segments[at], 'a segment').entries
      if (entries.count > 0) return entries.firstIndex
    }
    return this.lastIndex + 1
  }

  /** Where the entries from `from` on lie: at most to `to`, at least one, then as many as fit `bytesMax` of data. */
  locate(from: LogIndex, to: LogIndex, bytesMax: number): readonly Location[] {
    const locations: Location[] = []
    let next = from
    let left = bytesMax
    for (const segment of this.segments) {
      const { entries } = segment
      if (entries.count === 0 || entries.lastIndex < next) continue
      const first = next
      const last = Math.min(to, entries.lastIndex)
      while (next <= last && (next === from || entries.dataBytesOf(next) <= left)) {
        left -= entries.dataBytesOf(next)
        next++
      }
      if (next > first) locations.push({ segment, first, last: next - 1 })
      if (next <= last || next > to) break
    }
    return locations
  }

  /** The first of the newest entries that together fit `bytesMax` of data; one past the end when none does. */
  tailFrom(bytesMax: number): LogIndex {
    let from = this.lastIndex + 1
    let left = bytesMax
    for (const { entries } of this.segments.toReversed()) {
      if (entries.count === 0) continue
      while (from > entries.firstIndex && from > this.base.index + 1) {
        left -= entries.dataBytesOf(from - 1)
        if (left < 0) return from
        from--
      }
    }
    return from
  }

  /** Every entry that should be there is. */
  isWhole(): boolean {
    let next = this.base.index + 1
    for (const { entries } of this.segments) {
      if (entries.count === 0 || entries.lastIndex < next) continue
      if (entries.firstIndex > next) return false
      next = entries.lastIndex + 1
    }
    if (next !== this.lastIndex + 1) return false
    const noEntries = this.lastIndex === this.base.index
    return this.#runs.firstIndex === (noEntries ? undefined : this.base.index + 1)
  }

  /**
   * Takes out the segments that nothing refers to any more, oldest first. Never the last one.
   * The next segment's checkpoint says all that theirs and their frames said.
   */
  takeUnneeded(): Segment | null {
    const [first, second] = this.segments
    if (first === undefined || second === undefined) return null
    if (first.entries.count > 0 && first.entries.lastIndex > this.base.index) return null
    this.segments.shift()
    return first
  }

  #begin(checkpoint: Checkpoint): void {
    if (!this.#empty && !checkpoint.reset) {
      assert(checkpoint.lastIndex === this.lastIndex, 'a segment goes on where the last one ended')
      assert(checkpoint.base.index === this.base.index, 'a segment goes on from the same base')
      return
    }
    this.#empty = false
    for (const segment of this.segments) segment.entries.clear()
    this.base = checkpoint.base
    this.hardState = checkpoint.hardState
    this.lastIndex = checkpoint.lastIndex
    this.#configurations = []
    // Entries between base and here lie in segments that are gone: a later record voids them or raises the base.
    this.#runs.clear()
    if (checkpoint.lastIndex > checkpoint.base.index) {
      this.#runs.append(checkpoint.lastIndex, checkpoint.lastTerm)
    }
  }

  #append(entry: Entry, segment: Segment, offset: number): void {
    assert(entry.index === this.lastIndex + 1, 'entries are consecutive')
    assert(entry.term >= this.base.term, 'terms do not go back')
    this.#runs.append(entry.index, entry.term)
    segment.entries.push(entry.index, offset, entry.data.length)
    if (entry.kind === 'configuration') {
      this.#configurations.push({ ...entry, data: Uint8Array.from(entry.data) })
    }
    this.lastIndex = entry.index
  }

  #truncate(from: LogIndex): void {
    assert(from > this.base.index, 'what is truncated is above the base')
    assert(from <= this.lastIndex, 'what is truncated is in the log')
    for (const { entries } of this.segments.toReversed()) {
      entries.truncate(from)
      if (entries.count > 0) break
    }
    this.#runs.truncate(from)
    this.#configurations = this.#configurations.filter((entry) => entry.index < from)
    this.lastIndex = from - 1
  }

  #raiseBase(base: SnapshotMeta): void {
    assert(base.index >= this.base.index, 'the base never goes back')
    assert(base.index <= this.lastIndex, 'the base is in the log')
    this.#runs.compact(base.index + 1, this.lastIndex)
    this.#configurations = this.#configurations.filter((entry) => entry.index > base.index)
    this.base = base
  }
}
