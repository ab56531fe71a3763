/** Chunks of files as frames: JSON objects one after the other, and `{}` now and then while there is nothing to say. */
import { within } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import type { LogChunk } from './services.ts'

const heartbeatMs = 1_000

/** Ends with its source; its `return` ends that. */
export async function* framesOf(
  source: AsyncIterableIterator<LogChunk>,
  clock: Clock,
): AsyncGenerator<string, void> {
  try {
    let asked = source.next()
    for (;;) {
      const result = await within(asked, clock, heartbeatMs)
      if (result === null) {
        yield '{}'
        continue
      }
      if (result.done === true) return
      const { file, offset, data } = result.value
      const base64 = Buffer.from(data).toString('base64')
      yield JSON.stringify({ File: file, Offset: offset, Data: base64 })
      asked = source.next()
    }
  } finally {
    await source.return?.()
  }
}

export async function* bytesOf(
  source: AsyncIterableIterator<LogChunk>,
): AsyncGenerator<Uint8Array, void> {
  for await (const { data } of source) yield data
}
