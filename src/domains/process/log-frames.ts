/**
 * Text as log frames: JSON objects one after the other, each with up to a kilobyte of the stream, where it begins in
 * it, and `{}` now and then while there is nothing to say, so that both sides see that the other is there.
 */
import type { Clock } from '../../lib/clock.ts'
import { within } from '../../lib/async.ts'

/** Of the stream's bytes in one frame; a line may be split. */
export const frameBytesMax = 1024
export const heartbeatMs = 1_000

export const heartbeat = '{}'

/** Frames of one chunk of the stream that begins at byte `offset`. */
export function framesOf(chunk: string, offset: number): { frames: string[]; end: number } {
  const bytes = Buffer.from(chunk)
  const frames: string[] = []
  for (let at = 0; at < bytes.length; at += frameBytesMax) {
    const data = bytes.subarray(at, at + frameBytesMax).toString('base64')
    frames.push(JSON.stringify({ Offset: offset + at, Data: data, FileEvent: 'log' }))
  }
  return { frames, end: offset + bytes.length }
}

/** The frames of a stream. Ends with it; its `return` ends it. */
export function frameStream(
  source: AsyncIterator<string>,
  clock: Clock,
): AsyncIterableIterator<string> {
  let offset = 0
  let waiting: string[] = []
  /** Outlives heartbeats: what was asked of the source is still to come. */
  let asked: Promise<IteratorResult<string>> | null = null

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
        const { frames, end } = framesOf(result.value, offset)
        waiting = frames
        offset = end
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
