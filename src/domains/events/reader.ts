/**
 * One reader of events, from its beginning to its last frame. It holds a place in the buffer and the frames that it is
 * about to hand over, and goes on when those were taken: a reader that is slow falls behind the buffer, and is told.
 */
import { setImmediate } from 'node:timers/promises'
import type { Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import type { StreamContext } from '../../rpc/method.ts'
import type { EventBuffer, KeptEntry, KeptRow } from './buffer.ts'
import {
  endOfSnapshotFrame,
  errorFrame,
  eventsFrame,
  heartbeat,
  progressFrame,
  snapshotFrame,
} from './frames.ts'
import type { Part, Selection } from './selection.ts'
import type { ShownEvents } from './shown-events.ts'
import type { TopicEvent } from './topic.ts'

export const heartbeatMs = 10_000
/** Characters of frames that are handed over at a time, unless one entry has more. */
const handedLengthMax = 64 * 1024
/** Changes looked at between two turns of other work, and entries taken from the buffer at a time. */
const changesPerTurn = 512
const entriesMax = 128

export type ReaderOptions = {
  readonly buffer: EventBuffer
  readonly shown: ShownEvents
  readonly view: () => Reader & { close(): void }
  readonly clock: Clock
  readonly selection: Selection
  readonly context: StreamContext
  /** The first index whose events are wanted. */
  readonly from: number
  /** What there is comes first, and then what changes after that: `from` means nothing. */
  readonly snapshot: boolean
  /** Heartbeats tell how far the reader is. */
  readonly progress: boolean
}

/** Frames as they are to be sent together. Ends by itself after a last frame that says why. */
export async function* framesFor(options: ReaderOptions): AsyncGenerator<readonly string[]> {
  const reader = new EventReader(options)
  try {
    if (options.snapshot) yield* reader.snapshot()
    yield* reader.follow()
  } catch (error) {
    // A defect breaks the stream off, as it does elsewhere.
    if (!(error instanceof MusterError) || codeOf(error) === 'internal') throw error
    yield [errorFrame(error.message, reader.toldIndex)]
  }
}

class EventReader {
  readonly #options: ReaderOptions
  /** All before this index was looked at. */
  #next: number
  /** All up to this one was handed over, as far as it was this reader's. */
  #told: number
  #toldMs = -Infinity
  /** Changes looked at since the last turn of other work. */
  #looked = 0

  constructor(options: ReaderOptions) {
    this.#options = options
    this.#next = options.from
    this.#told = options.snapshot ? 0 : options.from - 1
  }

  get toldIndex(): number {
    return this.#told
  }

  /** What there is, and its end. The state is kept for as long as this takes, and no longer than it is of use. */
  async *snapshot(): AsyncGenerator<readonly string[]> {
    const { view: open, selection } = this.#options
    const view = open()
    try {
      const index = view.appliedIndex
      for (const part of selection.parts()) {
        for await (const rows of firstRows(view, part)) {
          await this.#assertGoesOn()
          // A client that reads this too slowly has missed what comes next.
          this.#options.buffer.assertKept(index + 1)
          const events = rows
            .map((row) => this.#options.shown.ofRow(part.topic, row))
            .filter((event) => this.#isFor(event))
          if (events.length > 0) {
            const texts = events.map(({ text }) => text)
            yield [snapshotFrame(index, texts)]
          }
        }
      }
      this.#next = index + 1
      yield this.#tell([endOfSnapshotFrame(index)])
    } finally {
      view.close()
    }
  }

  async *follow(): AsyncGenerator<readonly string[]> {
    const { buffer, context, progress } = this.#options
    const { signal } = context
    for (;;) {
      const frames = await this.#collect()
      if (frames.length > 0) {
        yield this.#tell(frames)
        continue
      }
      // The first frame comes at once, so that the reader sees that its stream stands.
      const delayMs = Math.max(0, heartbeatMs - this.#sinceToldMs())
      const more = delayMs > 0 && (await buffer.wait(this.#next, delayMs, signal))
      if (more || signal.aborted) continue
      yield this.#tell([progress ? progressFrame(this.#next - 1) : heartbeat])
    }
  }

  #tell(frames: readonly string[]): readonly string[] {
    this.#told = this.#next - 1
    this.#toldMs = this.#options.clock.monotonicMs()
    return frames
  }

  #sinceToldMs(): number {
    return this.#options.clock.monotonicMs() - this.#toldMs
  }

  /** What has come, up to a bound; nothing: there is nothing more for this reader now. */
  async #collect(): Promise<readonly string[]> {
    const { buffer } = this.#options
    const frames: string[] = []
    let length = 0
    for (;;) {
      // What the reader may see is looked up in a state at this index or later, so no event is judged by older rights.
      const upTo = buffer.appliedIndex
      await this.#assertGoesOn()
      while (length < handedLengthMax) {
        // Again each time: between two turns the buffer goes on.
        if (frames.length > 0 && this.#next < buffer.firstIndex) return frames
        buffer.assertKept(this.#next)
        const entries = buffer.entries(this.#next, upTo, entriesMax)
        if (entries.length === 0) {
          this.#next = Math.max(this.#next, upTo + 1)
          return frames
        }
        for (const entry of entries) {
          const framing = this.#frameOf(entry)
          const frame = framing instanceof Promise ? await framing : framing
          this.#next = entry.index + 1
          if (frame === null) continue
          frames.push(frame)
          length += frame.length
          if (length >= handedLengthMax) break
        }
      }
      if (frames.length > 0) return frames
    }
  }

  /** Null: nothing of it is this reader's. A promise only where it gives others a turn: most entries are small. */
  #frameOf(entry: KeptEntry): string | null | Promise<string | null> {
    this.#looked += entry.rows.length
    if (this.#looked < changesPerTurn) {
      const texts: string[] = []
      for (const row of entry.rows) this.#addText(texts, row, entry.index)
      return texts.length === 0 ? null : eventsFrame(entry.index, texts)
    }
    return this.#frameInTurns(entry)
  }

  async #frameInTurns({ index, rows }: KeptEntry): Promise<string | null> {
    const texts: string[] = []
    for (const [at, row] of rows.entries()) {
      if (at % changesPerTurn === 0) {
        await setImmediate()
        this.#assertNotOver()
      }
      this.#addText(texts, row, index)
    }
    this.#looked = rows.length % changesPerTurn
    return texts.length === 0 ? null : eventsFrame(index, texts)
  }

  #addText(texts: string[], row: KeptRow, index: number): void {
    const { selection, shown } = this.#options
    const topic = selection.topicOf(row.table)
    if (topic === null) return
    const event = shown.of(topic, row, index)
    if (this.#isFor(event)) texts.push(event.text)
  }

  #isFor(event: TopicEvent): boolean {
    const { selection, context } = this.#options
    return (
      selection.matches(event) && event.requires.every((requirement) => context.may(requirement))
    )
  }

  async #assertGoesOn(): Promise<void> {
    this.#assertNotOver()
    await this.#options.context.renewPermissions()
    this.#assertNotOver()
  }

  #assertNotOver(): void {
    const { aborted, reason } = this.#options.context.signal
    if (!aborted) return
    throw reason instanceof MusterError ? reason : new MusterError('cancelled', 'the stream ends')
  }
}

async function* firstRows(reader: Reader, part: Part): AsyncGenerator<readonly unknown[]> {
  let left = part.rowsMax
  const shown = part.topic.shown?.(reader) ?? null
  for await (const page of reader.pages<never>(part.topic.table, part.range)) {
    const rows = page.length > left ? page.slice(0, left) : page
    yield shown === null ? rows : rows.map(shown).filter((row) => row !== null)
    left -= page.length
    if (left <= 0) return
  }
}
