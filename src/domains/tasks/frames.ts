/** Chunks of files as frames: JSON objects one after the other. */
import type { Clock } from '../../lib/clock.ts'
import { frameStream } from '../../lib/frame-stream.ts'
import type { FileChunk } from './services.ts'

export function framesOf(
  source: AsyncIterator<FileChunk>,
  clock: Clock,
): AsyncIterableIterator<string> {
  const frameOf = ({ file, offset, data, event }: FileChunk): string => {
    if (event !== undefined) {
      return JSON.stringify({ File: file, Offset: offset, FileEvent: event })
    }
    const base64 = Buffer.from(data).toString('base64')
    return JSON.stringify({ File: file, Offset: offset, Data: base64 })
  }
  return frameStream(source, (chunk) => [frameOf(chunk)], clock)
}

/** Bytes that no text has, as browsers and Go's `http.DetectContentType` tell them; only the first are looked at. */
const isOfNoText = (byte: number): boolean =>
  byte <= 0x08 || byte === 0x0b || (byte >= 0x0e && byte <= 0x1a) || (byte >= 0x1c && byte <= 0x1f)
export const lookedAtBytes = 512

/** Waits for the first part. What the stream gives is to be read, or its `return` called. */
export async function typedBytes(source: AsyncIterableIterator<FileChunk>): Promise<{
  readonly isText: boolean
  readonly stream: AsyncIterableIterator<Uint8Array>
}> {
  let first: IteratorResult<FileChunk> | null = await source.next()
  const head = first.done === true ? new Uint8Array() : first.value.data.subarray(0, lookedAtBytes)
  const isText = !head.some(isOfNoText)
  // No generator: one that is never begun would leave the source open.
  const stream: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => stream,
    async next() {
      const result = first ?? (await source.next())
      first = null
      return result.done === true ? result : { done: false, value: result.value.data }
    },
    async return() {
      first = null
      await source.return?.()
      return { done: true, value: undefined }
    },
  }
  return { isText, stream }
}

export async function* bytesOf(
  source: AsyncIterableIterator<FileChunk>,
): AsyncGenerator<Uint8Array, void> {
  for await (const { data } of source) yield data
}
