/**
 * The disk's queue: units of the core in order, as many as are waiting in one write (group commit).
 * Invariant: a message in `afterwards` leaves only when its unit, and every one before it, is durable.
 */
import type { Message } from './core/message.ts'
import type { Persist } from './core/ready.ts'
import type { LogStore, LogWrite } from './storage/log-store.ts'

export type WriterHandlers = {
  readonly send: (message: Message) => void
  /** All units up to `sequence` are durable. */
  readonly persisted: (sequence: number) => void
  readonly failed: (error: unknown) => void
}

export class LogWriter {
  readonly #store: LogStore
  readonly #handlers: WriterHandlers
  #queue: Persist[] = []
  /** Resolves when the write under way is done; null: idle. */
  #busy: Promise<void> | null = null
  #held = false
  #failed = false
  /** The last caller that asked for exclusive use of the disk; each waits for the one before. */
  #turns: Promise<unknown> = Promise.resolve()

  constructor(store: LogStore, handlers: WriterHandlers) {
    this.#store = store
    this.#handlers = handlers
  }

  push(unit: Persist): void {
    this.#queue.push(unit)
    this.#start()
  }

  /** Runs `work` while no write is under way; units that come meanwhile wait. One at a time. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turns.then(async () => {
      // Held first: else the next write would begin before this continuation runs.
      this.#held = true
      while (this.#busy !== null) await this.#busy
      try {
        return await work()
      } finally {
        this.#held = false
        this.#start()
      }
    })
    this.#turns = turn.catch(() => undefined)
    return turn
  }

  /**
   * The log is about to start over behind a snapshot, with term and vote as they are now: entries that still wait
   * here conflict with it or are covered by it, and acknowledging those of the first kind would be a lie.
   */
  dropEntries(): void {
    this.#queue = this.#queue.map(({ sequence, afterwards }) => ({
      sequence,
      write: { truncateFrom: null, entries: [], hardState: null },
      afterwards: afterwards.filter((message) => message.type !== 'appendResponse' || !message.ok),
    }))
  }

  async idle(): Promise<void> {
    while (this.#busy !== null) await this.#busy
  }

  #start(): void {
    if (this.#busy !== null || this.#held || this.#failed || this.#queue.length === 0) return
    const units = withoutOvertaken(this.#queue)
    this.#queue = []
    const writes = units.map((unit) => unit.write).filter(isWork)
    if (writes.length === 0) {
      this.#done(units)
      return
    }
    this.#busy = this.#store.write(writes).then(
      () => {
        this.#busy = null
        this.#done(units)
        this.#start()
      },
      (error: unknown) => {
        // The disk's state is unknown: nothing that rests on it may leave any more.
        this.#failed = true
        this.#busy = null
        this.#handlers.failed(error)
      },
    )
  }

  #done(units: readonly Persist[]): void {
    for (const unit of units) for (const message of unit.afterwards) this.#handlers.send(message)
    const last = units.at(-1)
    if (last !== undefined) this.#handlers.persisted(last.sequence)
  }
}

/**
 * Units that go to the disk together leave it in the state of the last one: an acknowledgement of entries that a later
 * unit cuts off again would speak of what the disk does not hold any more.
 */
function withoutOvertaken(units: readonly Persist[]): readonly Persist[] {
  let cutFrom = Infinity
  return units
    .toReversed()
    .map((unit) => {
      const before = cutFrom
      cutFrom = Math.min(cutFrom, unit.write.truncateFrom ?? Infinity)
      if (before === Infinity) return unit
      const holds = (message: Message) =>
        message.type !== 'appendResponse' || !message.ok || message.matchIndex < before
      return { ...unit, afterwards: unit.afterwards.filter(holds) }
    })
    .toReversed()
}

function isWork(write: LogWrite): boolean {
  return write.truncateFrom !== null || write.entries.length > 0 || write.hardState !== null
}
