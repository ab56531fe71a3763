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

export async function* bytesOf(
  source: AsyncIterableIterator<FileChunk>,
): AsyncGenerator<Uint8Array, void> {
  for await (const { data } of source) yield data
}
