/**
 * The log of this process as a stream of text, for one reader: its own level, its own format, its own pace.
 * It ends soon after the signal, and takes its ear off the log however it ends.
 */
import { delay, onAbort } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import type { LogLevel, LogLine, LogTap } from '../../lib/log.ts'
import { jsonLine, textLine } from '../../lib/log-line.ts'
import { Places, type PlaceTaker } from '../../rpc/places.ts'
import { LogBuffer } from './log-buffer.ts'

/** Readers of one process's log. Each formats every line anew. */
export const readersMax = 64
/** Lines are gathered this long before they leave. */
const gatherMs = 200
/** A chunk of text is cut to about this, so that no chunk is large on its way through the cluster. */
const chunkLengthMax = 64 * 1024

export type MonitorOptions = {
  readonly level: LogLevel
  readonly json: boolean
}

export class Monitors {
  readonly #tap: LogTap
  readonly #clock: Clock
  readonly #name: string
  readonly #places = new Places({ max: readersMax, limit: 'the maximum of log streams' })

  /** `name` signs the notices of dropped lines. */
  constructor(tap: LogTap, clock: Clock, name: string) {
    this.#tap = tap
    this.#clock = clock
    this.#name = name
  }

  /** Readers that were refused a place. */
  get refusedCount(): number {
    return this.#places.refusedCount
  }

  /** Chunks of whole lines. Listens from the call on, and needs to be read or returned. Throws as `Places` does. */
  open(
    { level, json }: MonitorOptions,
    signal: AbortSignal,
    taker: PlaceTaker,
  ): AsyncIterableIterator<string> {
    const leave = this.#places.take(taker)
    const format = json ? jsonLine : textLine
    const buffer = new LogBuffer({ format, dropNotice: (count) => format(this.#notice(count)) })
    const unfollow = this.#tap.follow(level, (line) => buffer.push(line))
    let over = false
    const end = (): void => {
      if (over) return
      over = true
      leave()
      unfollow()
      buffer.end()
    }
    const stopListening = onAbort(signal, end)

    let chunks: string[] = []
    const iterator: AsyncIterableIterator<string> = {
      [Symbol.asyncIterator]: () => iterator,
      next: async () => {
        if (chunks.length === 0) {
          if (!over) {
            await buffer.wait()
            await delay(this.#clock, gatherMs, signal)
          }
          // Also after the end: the last lines of a server that stops are worth having.
          chunks = inChunks(buffer.take())
        }
        const value = chunks.shift()
        return value === undefined ? { value: undefined, done: true } : { value, done: false }
      },
      return: async () => {
        stopListening()
        end()
        chunks = []
        buffer.take()
        return { value: undefined, done: true }
      },
    }
    return iterator
  }

  #notice(count: number): LogLine {
    const lines = count === 1 ? '1 line' : `${count} lines`
    return {
      timestamp: new Date(this.#clock.wallMs()).toISOString(),
      level: 'warn',
      name: `${this.#name}.monitor`,
      message: `${lines} dropped: this reader is slower than the log`,
      fields: { dropped: count },
    }
  }
}

/** Cut between lines where one ends in time. */
function inChunks(text: string): string[] {
  const chunks: string[] = []
  let from = 0
  while (from < text.length) {
    const limit = from + chunkLengthMax
    const lastEnd = text.lastIndexOf('\n', limit - 1)
    const to = limit >= text.length ? text.length : lastEnd < from ? limit : lastEnd + 1
    chunks.push(text.slice(from, to))
    from = to
  }
  return chunks
}
