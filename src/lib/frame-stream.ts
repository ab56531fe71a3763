/**
 * Frames of what a source gives, and `{}` now and then while it gives nothing, so that both sides see that the other is there.
 */
import { within } from './async.ts'
import type { Clock } from './clock.ts'

const heartbeatMs = 1_000
export const heartbeat = '{}'

/** Ends with its source; its `return` ends that at once. */
export function frameStream<Item>(
  source: AsyncIterator<Item>,
  framesOf: (item: Item) => readonly string[],
  clock: Clock,
): AsyncIterableIterator<string> {
  let waiting: string[] = []
  /** Outlives heartbeats: what was asked of the source is still to come. */
  let asked: Promise<IteratorResult<Item>> | null = null

  const iterator: AsyncIterableIterator<string> = {
    [Symbol.asyncIterator]: () => iterator,
    async next() {
      for (;;) {
        const frame = waiting.shift()
        if (frame !== undefined) return { value: frame, done: false }
        asked ??= source.next()
        const result = await within(asked, clock, heartbeatMs)
        if (result === null) return { value: heartbeat, done: false }
        asked = null
        if (result.done === true) return { value: undefined, done: true }
        waiting = [...framesOf(result.value)]
      }
    },
    async return() {
      waiting = []
      await source.return?.()
      return { value: undefined, done: true }
    },
  }
  return iterator
}
