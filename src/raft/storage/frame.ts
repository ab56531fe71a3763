/**
 * The byte format around records: a segment's header, and frames. One write is one frame is one sync.
 *
 * Segment header (64 bytes, the same in every version):
 *
 *     0  8 bytes  'MUSTLOG' and a zero
 *     8  u32      format version
 *    12  u32      salt
 *    16  u64      sequence of the segment, as in its name
 *    60  u32      CRC32 of the 60 bytes before
 *
 * Frame (header of 32 bytes, then the records, then zeros up to the next multiple of 32):
 *
 *     0  u32      magic
 *     4  u32      CRC32 of the 24 bytes that follow, begun with the salt
 *     8  u64      sequence of the frame, consecutive over the whole log
 *    16  u32      length of the records
 *    20  u32      number of the records
 *    24  8 bytes  zero
 *
 * Why multiples of 32: a header never lies across two sectors, so a crash leaves it as it was (zeros) or whole.
 * A header that is neither is damage, never a torn write; `recovery.ts` rests on this.
 *
 * Why a salt: recovery searches for frames in bytes that clients chose. A client that stores bytes that look like a
 * frame could make a torn tail look like damage; the salt is random for each segment and never leaves the server.
 */
import { crc32 } from 'node:zlib'
import { assert } from '../../lib/assert.ts'
import { checkRecord, getUint53, putRecord, putUint53, recordBytes } from './record.ts'
import type { LogRecord } from './record.ts'

export const formatVersion = 1
export const segmentHeaderBytes = 64
export const frameHeaderBytes = 32
/** What a disk writes whole or not at all. */
export const sectorBytes = 512
/** A frame is built in one buffer; the driver's batches are a few MiB. */
export const frameBytesMax = 1024 * 1024 * 1024

const segmentMagic = Buffer.from('MUSTLOG\0', 'latin1')
const frameMagic = 0x4d52_464d
const alignment = 32

export type SegmentHeader = {
  readonly version: number
  readonly sequence: number
  readonly salt: number
}

export function encodeSegmentHeader({ version, sequence, salt }: SegmentHeader): Buffer {
  const buffer = Buffer.alloc(segmentHeaderBytes)
  segmentMagic.copy(buffer)
  buffer.writeUInt32LE(version, 8)
  buffer.writeUInt32LE(salt, 12)
  putUint53(buffer, 16, sequence)
  buffer.writeUInt32LE(crc32(buffer.subarray(0, 60)), 60)
  return buffer
}

/** Null when the bytes are not a segment's header as it was written. */
export function parseSegmentHeader(buffer: Buffer): SegmentHeader | null {
  if (buffer.length < segmentHeaderBytes) return null
  if (!buffer.subarray(0, segmentMagic.length).equals(segmentMagic)) return null
  if (crc32(buffer.subarray(0, 60)) !== buffer.readUInt32LE(60)) return null
  return {
    version: buffer.readUInt32LE(8),
    salt: buffer.readUInt32LE(12),
    sequence: getUint53(buffer, 16),
  }
}

export function aligned(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment
}

/** Bytes that a frame of these records takes in a segment. */
export function frameBytes(records: readonly LogRecord[]): number {
  let bytes = frameHeaderBytes
  for (const record of records) bytes += recordBytes(record)
  return aligned(bytes)
}

/**
 * Fills `buffer`, which is exactly as long as `frameBytes` says, and reports where each record begins in it.
 * The buffer may hold anything before: every byte is written.
 */
export function encodeFrame(
  buffer: Buffer,
  frame: {
    readonly sequence: number
    readonly salt: number
    readonly records: readonly LogRecord[]
  },
): readonly number[] {
  const { sequence, salt, records } = frame
  const offsets: number[] = []
  let at = frameHeaderBytes
  for (const record of records) {
    offsets.push(at)
    at = putRecord(buffer, at, record, salt)
  }
  assert(aligned(at) === buffer.length, 'a frame is as long as was computed')
  buffer.fill(0, at)
  buffer.writeUInt32LE(frameMagic, 0)
  putUint53(buffer, 8, sequence)
  buffer.writeUInt32LE(at - frameHeaderBytes, 16)
  buffer.writeUInt32LE(records.length, 20)
  buffer.fill(0, 24, frameHeaderBytes)
  buffer.writeUInt32LE(crc32(buffer.subarray(8, frameHeaderBytes), salt), 4)
  return offsets
}

export type FrameHeader = {
  readonly sequence: number
  readonly bodyBytes: number
  readonly recordCount: number
}

/** Null when there is no header at `at` that this segment's writer wrote. */
export function parseFrameHeader(buffer: Buffer, at: number, salt: number): FrameHeader | null {
  if (at + frameHeaderBytes > buffer.length || buffer.readUInt32LE(at) !== frameMagic) return null
  const crc = crc32(buffer.subarray(at + 8, at + frameHeaderBytes), salt)
  if (crc !== buffer.readUInt32LE(at + 4)) return null
  return {
    sequence: getUint53(buffer, at + 8),
    bodyBytes: buffer.readUInt32LE(at + 16),
    recordCount: buffer.readUInt32LE(at + 20),
  }
}

/** Where each record of the frame at `at` begins, and at last where they end; null when one does not check. */
export function checkFrame(
  buffer: Buffer,
  at: number,
  header: FrameHeader,
  salt: number,
): readonly number[] | null {
  const limit = at + frameHeaderBytes + header.bodyBytes
  if (limit > buffer.length) return null
  const offsets = [at + frameHeaderBytes]
  for (let record = 0; record < header.recordCount; record++) {
    const end = checkRecord(buffer, offsets.at(-1) ?? limit, limit, salt)
    if (end === null) return null
    offsets.push(end)
  }
  return offsets.at(-1) === limit ? offsets : null
}

/** The first place at or after `from` that holds a frame header of this segment not older than `sequence`. */
export function findFrame(
  buffer: Buffer,
  from: number,
  salt: number,
  sequence: number,
): number | null {
  for (let at = aligned(from); at + frameHeaderBytes <= buffer.length; at += alignment) {
    const header = parseFrameHeader(buffer, at, salt)
    if (header !== null && header.sequence >= sequence) return at
  }
  return null
}
