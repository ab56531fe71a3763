/**
 * The changes of the last entries, in order, for readers that follow and readers that come back. Bounded by their count
 * and by what they keep in memory: the oldest go. Readers hold a place in it, never a copy, and nobody who applies waits
 * for one of them.
 */
import type { ChangedEntry, ChangesListener } from '../../fsm/domain.ts'
import { firstOf } from '../../lib/async.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
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
  bytesMax: 32 * 1024 * 1024,
  readersMax: 1_024,
}

/** What a kept row costs beside its bytes: the objects around it, measured on a full buffer. */
export const rowOverheadBytes = 256

/** Readers woken in one turn of the event loop. */
const wakesPerTurn = 32

/** Between two times that readers are woken. The first change after a pause is told at once. */
const gatherMs = 10

/** Entries that went are cut off the array when there are this many of them, and half of it. */
const goneMin = 1_024

type Kept = { readonly entry: ChangedEntry; readonly bytes: number }

/** How a server hears of what it applies; the machine gives it. */
export type ChangeSource = {
  readonly appliedIndex: number
  onChanges(tables: readonly string[], listener: ChangesListener): () => void
}

export class EventBuffer {
  readonly #clock: Clock
  readonly #limits: EventBufferLimits
  readonly #unsubscribe: () => void
  /** From `#gone` on. */
  #kept: Kept[] = []
  #gone = 0
  #events = 0
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
      events: this.#events,
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

  /** The first entries from `index` to `upTo`, at most so many. Nothing is said of what is not kept any more. */
  entries(index: number, upTo: number, entriesMax: number): readonly ChangedEntry[] {
    const found: ChangedEntry[] = []
    for (let place = this.#placeOf(index); found.length < entriesMax; place += 1) {
      const entry = this.#kept[place]?.entry
      if (entry === undefined || entry.index > upTo) break
      found.push(entry)
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
        if (index < this.#firstIndex || this.#placeOf(index) < this.#kept.length) this.#wakeSoon()
        return () => this.#waiting.delete(wake)
      },
      timeout: inVain,
      aborted: inVain,
    })
  }

  /** Of the first entry at `index` or later: where the next one will stand when there is none. */
  #placeOf(index: number): number {
    let low = this.#gone
    let high = this.#kept.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#kept[middle]?.entry.index ?? Infinity) < index) low = middle + 1
      else high = middle
    }
    return low
  }

  #add(entries: readonly ChangedEntry[]): void {
    for (const entry of entries) {
      const bytes = entry.rows.reduce((sum, row) => sum + rowOverheadBytes + row.byteLength, 0)
      this.#kept.push({ entry, bytes })
      this.#events += entry.rows.length
      this.#bytes += bytes
    }
    while (this.#events > this.#limits.eventsMax || this.#bytes > this.#limits.bytesMax) {
      this.#dropOldest()
    }
    if (this.#gone >= goneMin && this.#gone * 2 >= this.#kept.length) {
      this.#kept = this.#kept.slice(this.#gone)
      this.#gone = 0
    }
    this.#wakeSoon()
  }

  #dropOldest(): void {
    const oldest = this.#kept[this.#gone]
    if (oldest === undefined) return
    const { entry, bytes } = oldest
    // Gone from here on, so that its memory is, whatever the array keeps.
    this.#kept[this.#gone] = { entry: { index: entry.index, rows: [] }, bytes: 0 }
    this.#gone += 1
    this.#events -= entry.rows.length
    this.#bytes -= bytes
    this.#firstIndex = entry.index + 1
  }

  #restart(): void {
    this.#kept = []
    this.#gone = 0
    this.#events = 0
    this.#bytes = 0
    this.#firstIndex = this.#appliedIndex + 1
    this.#wakeSoon()
  }

  /** Not in the turn that applies: whoever wakes reads at once. */
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
