/**
 * One reader of events, from its beginning to its last frame. It holds a place in the buffer and the frames that it is
 * about to hand over, and goes on when those were taken: a reader that is slow falls behind the buffer, and is told.
 */
import { setImmediate } from 'node:timers/promises'
import type { ChangedEntry, Reader } from '../../fsm/domain.ts'
import type { Clock } from '../../lib/clock.ts'
import { codeOf, MusterError } from '../../lib/errors.ts'
import type { StreamContext } from '../../rpc/method.ts'
import type { EventBuffer } from './buffer.ts'
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
/** A reader that was just given something waits this long for more to give it together. */
const gatherMs = 10
/** Characters of frames that are handed over at a time, unless one entry has more. */
const handedLengthMax = 64 * 1024
/** Changes looked at between two turns of other work. */
const changesPerTurn = 512

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
          // Whoever takes this too slowly has missed what comes next.
          assertKept(this.#options.buffer, index + 1)
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
    const { buffer, clock, context, progress } = this.#options
    const { signal } = context
    for (;;) {
      const frames = await this.#collect()
      if (frames.length > 0) {
        yield this.#tell(frames)
        continue
      }
      // The first frame comes at once, so that the reader sees that its stream stands.
      const delayMs = Math.max(0, heartbeatMs - this.#sinceToldMs())
      const more = delayMs > 0 && (await buffer.wait(this.#next, { clock, delayMs, signal }))
      if (signal.aborted) continue
      if (!more) yield this.#tell([progress ? progressFrame(this.#next - 1) : heartbeat])
      else if (this.#sinceToldMs() < gatherMs) await pause(clock, gatherMs, signal)
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
        // Again for each: between two turns the buffer goes on.
        if (frames.length > 0 && this.#next < buffer.firstIndex) return frames
        assertKept(buffer, this.#next)
        const entry = buffer.entryFrom(this.#next)
        if (entry === null || entry.index > upTo) {
          this.#next = Math.max(this.#next, upTo + 1)
          return frames
        }
        const texts = await this.#textsOf(entry)
        this.#next = entry.index + 1
        if (texts.length === 0) continue
        const frame = eventsFrame(entry.index, texts)
        frames.push(frame)
        length += frame.length
      }
      if (frames.length > 0) return frames
    }
  }

  async #textsOf({ index, rows }: ChangedEntry): Promise<readonly string[]> {
    const { selection, shown } = this.#options
    const texts: string[] = []
    for (const row of rows) {
      const topic = selection.topicOf(row.table)
      this.#looked += 1
      if (this.#looked >= changesPerTurn) {
        this.#looked = 0
        await setImmediate()
        this.#assertNotOver()
      }
      if (topic === null) continue
      const event = shown.of(topic, row, index)
      if (this.#isFor(event)) texts.push(event.text)
    }
    return texts
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

/** Throws `gone`. */
export function assertKept(buffer: EventBuffer, index: number): void {
  const { firstIndex } = buffer
  if (index >= firstIndex) return
  throw new MusterError(
    'gone',
    `events of index ${index} are not kept any more, the first are of ${firstIndex}: ` +
      'begin again with snapshot=true',
  )
}

async function* firstRows(reader: Reader, part: Part): AsyncGenerator<readonly unknown[]> {
  let left = part.rowsMax
  for await (const page of reader.pages<never>(part.topic.table, part.range)) {
    yield page.length > left ? page.slice(0, left) : page
    left -= page.length
    if (left <= 0) return
  }
}

function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimer(delayMs, done)
    if (signal.aborted) done()
    else signal.addEventListener('abort', done, { once: true })
  })
}
