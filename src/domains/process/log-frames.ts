/** Text as log frames: JSON objects one after the other, each with up to a kilobyte of the stream, and where it begins in it. */
import type { Clock } from '../../lib/clock.ts'
import { frameStream } from '../../lib/frame-stream.ts'

/** Of the stream's bytes in one frame; a line may be split. */
export const frameBytesMax = 1024

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
export function logFrames(
  source: AsyncIterator<string>,
  clock: Clock,
): AsyncIterableIterator<string> {
  let offset = 0
  const next = (chunk: string): readonly string[] => {
    const { frames, end } = framesOf(chunk, offset)
    offset = end
    return frames
  }
  return frameStream(source, next, clock)
}
