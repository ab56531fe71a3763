/** Frames of streamed calls and back; what is in them is encoded as in `link-codec.ts`. */
import { MusterError } from '../lib/errors.ts'
import { wireType } from '../wire/protocol.ts'
import type { WireCallError, WireRequest } from './link-codec.ts'

export const streamPath = '/muster.server.Server/Stream'

export type StreamFrame = {
  readonly open: WireRequest | null
  /** Bytes. */
  readonly credit: number
  readonly accepted: boolean
  readonly items: readonly Uint8Array[]
  readonly ended: boolean
  readonly error: WireCallError | null
}

/**
 * Bytes of items that may be on their way or waiting on the reading side. Enough to keep a fast network busy, and
 * what one reader that stands still costs.
 */
export const streamWindowBytes = 256 * 1024

/** What an item counts for besides its bytes, so that empty ones are bounded too. */
const itemOverheadBytes = 64

const frames = wireType<StreamFrame>('muster.server.StreamFrame')

export function encodeStreamFrame(frame: Partial<StreamFrame>): Buffer {
  return frames.encode(frame as StreamFrame)
}

/** Throws MusterError `corrupt`. */
export function decodeStreamFrame(bytes: Buffer): StreamFrame {
  let frame
  try {
    frame = frames.decode(bytes)
  } catch (cause) {
    throw new MusterError('corrupt', 'a frame of a stream is not the protobuf it should be', {
      cause,
    })
  }
  if (!Number.isSafeInteger(frame.credit)) {
    throw new MusterError('corrupt', `a credit of ${frame.credit} bytes, it must be below 2^53`)
  }
  return frame
}

/** What an item takes of the credit. */
export function itemCost(item: Uint8Array): number {
  return item.length + itemOverheadBytes
}
