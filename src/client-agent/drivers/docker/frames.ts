/**
 * The output of a container without a terminal: frames of both streams, one behind the other. A frame has eight bytes before it,
 * of which the first names the stream and the last four are its length.
 */
import { MusterError } from '../../../lib/errors.ts'

const headBytes = 8
/** Docker's have 16 KiB of a line, or what a command wrote at once. */
const frameBytesMax = 1024 * 1024

export type Stream = 'stdout' | 'stderr'
export type Frame = { readonly stream: Stream; readonly data: Buffer }

export class Frames {
  #rest: Buffer = Buffer.alloc(0)

  /** Those that are whole now. Throws `unavailable` for what are no frames. */
  take(chunk: Buffer): readonly Frame[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const frames: Frame[] = []
    let at = 0
    while (bytes.length - at >= headBytes) {
      const length = bytes.readUInt32BE(at + 4)
      const kind = bytes[at] ?? 0
      if (kind > 2 || length > frameBytesMax) {
        throw new MusterError('unavailable', 'Docker sent output that cannot be read')
      }
      const end = at + headBytes + length
      if (bytes.length < end) break
      const data = bytes.subarray(at + headBytes, end)
      frames.push({ stream: kind === 2 ? 'stderr' : 'stdout', data })
      at = end
    }
    this.#rest = bytes.subarray(at)
    return frames
  }
}
