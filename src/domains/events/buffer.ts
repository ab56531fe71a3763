/**
 * The changes of the last entries, in order, for readers that follow and readers that come back. Bounded by their count
 * and by what they keep in memory: the oldest go. Readers hold a place in it, never a copy, and no apply waits for one of them.
 *
 * The rows are kept as packed bytes (`lib/record-ring.ts`): without readers nothing is made of them, and a write costs a copy of
 * its rows.
 */
import type { ChangedEntry, ChangesListener } from '../../fsm/domain.ts'
import { present } from '../../lib/assert.ts'
import { firstOf } from '../../lib/async.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { RecordRing, type RingRecord } from '../../lib/record-ring.ts'
import { Places, type PlaceTaker } from '../../rpc/places.ts'

export type EventBufferLimits = {
  /** Changed rows that are kept. */
  readonly eventsMax: number
  /** What they keep in memory, their overhead with them. */
  readonly bytesMax: number
  /** Readers at a time. */
  readonly readersMax: number
}

export const eventBufferLimits: EventBufferLimits = {
  eventsMax: 65_536,
  bytesMax: 16 * 1024 * 1024,
  readersMax: 1_024,
}

/** What a kept row costs beside its bytes: its numbers, and the room at the end of a block. */
export const rowOverheadBytes = 32

/** Readers woken in one turn of the event loop. */
const wakesPerTurn = 32

/** Between two times that readers are woken. The first change after a pause is told at once. */
const gatherMs = 10

/** A row that is kept, made for the reader that asks for it. */
export class KeptRow {
  /** No other row has it. */
  readonly id: number
  readonly table: string
  readonly removed: boolean
  readonly #record: RingRecord
  readonly #unpack: ChangeSource['unpackRow']

  constructor(record: RingRecord, tables: readonly string[], unpack: ChangeSource['unpackRow']) {
    this.id = record.place
    this.table = present(tables[record.tag >>> 1], 'the table of a kept row')
    this.removed = (record.tag & 1) === 1
    this.#record = record
    this.#unpack = unpack
  }

  /** Decoded anew at each call. */
  row(): unknown {
    return this.#unpack(this.#record.bytes)
  }
}

/** What is kept of one entry. */
export type KeptEntry = { readonly index: number; readonly rows: readonly KeptRow[] }

/** How a server hears of what it applies; the machine gives it. */
export type ChangeSource = {
  readonly appliedIndex: number
  onChanges(tables: readonly string[], listener: ChangesListener): () => void
  /** What `ChangedRow.packed` holds. */
  unpackRow(packed: Uint8Array): unknown
}

export class EventBuffer {
  readonly #unpack: ChangeSource['unpackRow']
  readonly #tables: readonly string[]
  readonly #clock: Clock
  readonly #limits: EventBufferLimits
  readonly #unsubscribe: () => void
  /** A row each. The tag is the table's number, doubled, and one more where the row was removed. */
  readonly #rows = new RecordRing()
  #bytes = 0
  readonly #places: Places
  #behind = 0
  #firstIndex: number
  #appliedIndex: number
  readonly #waiting = new Set<() => void>()
  #turn: NodeJS.Immediate | null = null
  #pause: Timer | null = null
  /** Something came since the last of them was woken, or while they were. */
  #more = false

  /** Listens to changes of rows of these tables, until `close`. */
  constructor(
    source: ChangeSource,
    tables: readonly string[],
    clock: Clock,
    limits: EventBufferLimits = eventBufferLimits,
  ) {
    this.#unpack = (packed) => source.unpackRow(packed)
    this.#tables = tables
    this.#clock = clock
    this.#limits = limits
    this.#places = new Places({ max: limits.readersMax, limit: 'limits.event_streams_max' })
    this.#appliedIndex = source.appliedIndex
    this.#firstIndex = source.appliedIndex + 1
    this.#unsubscribe = source.onChanges(tables, (entries, appliedIndex) => {
      this.#appliedIndex = appliedIndex
      if (entries === null) this.#restart()
      else if (entries.length > 0) this.#add(entries)
    })
  }

  /** All that changed at this index or later is here. */
  get firstIndex(): number {
    return this.#firstIndex
  }

  /** All that changed up to here was told: the index of the state. */
  get appliedIndex(): number {
    return this.#appliedIndex
  }

  /** `behind`: readers that wanted what was not kept any more, since the start. */
  stats(): {
    readonly events: number
    readonly bytes: number
    readonly readers: number
    readonly behind: number
  } {
    return {
      events: this.#count,
      bytes: this.#bytes,
      readers: this.#places.taken,
      behind: this.#behind,
    }
  }

  /** Readers that were refused a place. */
  get refusedCount(): number {
    return this.#places.refusedCount
  }

  /** One more reader. Returns the way to leave. Throws as `Places` does. */
  join(taker: PlaceTaker): () => void {
    return this.#places.take(taker)
  }

  /** Throws `gone` when changes of this index are not kept any more. */
  assertKept(index: number): void {
    if (index >= this.#firstIndex) return
    this.#behind += 1
    throw new MusterError(
      'gone',
      `events of index ${index} are not kept any more, the first are of ${this.#firstIndex}: ` +
        'begin again with snapshot=true',
    )
  }

  close(): void {
    this.#unsubscribe()
    if (this.#turn !== null) clearImmediate(this.#turn)
    this.#turn = null
    this.#pause?.cancel()
    for (const wake of this.#waiting) wake()
  }

  /** The first entries from index `from` to `upTo`, at most so many. Nothing is said of what is not kept any more. */
  entries(from: number, upTo: number, entriesMax: number): readonly KeptEntry[] {
    const found: { readonly index: number; readonly rows: KeptRow[] }[] = []
    for (let id = this.#rows.placeOf(from); id < this.#rows.endPlace; id += 1) {
      const index = this.#rows.indexAt(id)
      const last = found.at(-1)
      if (last?.index === index) {
        last.rows.push(this.#keptRow(id))
        continue
      }
      if (index > upTo || found.length === entriesMax) break
      found.push({ index, rows: [this.#keptRow(id)] })
    }
    return found
  }

  /**
   * True as soon as there is an entry at `index` or later, or all was lost; false after `delayMs` or when the signal
   * fires, whichever comes first.
   */
  wait(index: number, delayMs: number, signal: AbortSignal): Promise<boolean> {
    return firstOf<boolean>({
      clock: this.#clock,
      ms: delayMs,
      signal,
      listen: (found) => {
        const wake = (): void => found(true)
        this.#waiting.add(wake)
        // Not at once, so that a reader who keeps up with many changes is given some of them together too.
        if (index < this.#firstIndex || this.#rows.placeOf(index) < this.#rows.endPlace) {
          this.#wakeSoon()
        }
        return () => this.#waiting.delete(wake)
      },
      timeout: inVain,
      aborted: inVain,
    })
  }

  get #count(): number {
    return this.#rows.endPlace - this.#rows.firstPlace
  }

  #keptRow(id: number): KeptRow {
    return new KeptRow(this.#rows.recordAt(id), this.#tables, this.#unpack)
  }

  #add(entries: readonly ChangedEntry[]): void {
    for (const { index, rows } of entries) {
      for (const { table, removed, packed } of rows) {
        this.#rows.append(index, this.#tables.indexOf(table) * 2 + (removed ? 1 : 0), packed)
        this.#bytes += rowOverheadBytes + packed.byteLength
      }
    }
    while (this.#count > this.#limits.eventsMax || this.#bytes > this.#limits.bytesMax) {
      this.#dropOldest()
    }
    this.#wakeSoon()
  }

  /** An entry, whole. */
  #dropOldest(): void {
    const rows = this.#rows
    const index = rows.indexAt(rows.firstPlace)
    while (rows.firstPlace < rows.endPlace && rows.indexAt(rows.firstPlace) === index) {
      this.#bytes -= rowOverheadBytes + rows.takeFirst().byteLength
    }
    this.#firstIndex = index + 1
  }

  #restart(): void {
    this.#rows.clear()
    this.#bytes = 0
    this.#firstIndex = this.#appliedIndex + 1
    this.#wakeSoon()
  }

  /** Not in the turn that applies: a reader that wakes reads at once. */
  #wakeSoon(): void {
    if (this.#turn !== null || this.#pause !== null) this.#more = true
    else if (this.#waiting.size > 0) this.#wakeIn([...this.#waiting])
  }

  #wakeIn(due: (() => void)[]): void {
    this.#turn = setImmediate(() => {
      this.#turn = null
      for (const wake of due.splice(0, wakesPerTurn)) wake()
      if (due.length > 0) this.#wakeIn(due)
      else this.#gather()
    })
  }

  /** What comes now is given to readers together, and to those who began to wait while the others were woken. */
  #gather(): void {
    this.#pause = this.#clock.setTimer(gatherMs, () => {
      this.#pause = null
      if (!this.#more) return
      this.#more = false
      this.#wakeSoon()
    })
  }
}

function inVain(): false {
  return false
}
