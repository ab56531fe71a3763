/**
 * Records: what the log says, one after the other. A frame (`frame.ts`) carries the records of one write.
 *
 * On disk, little-endian:
 *
 *     0  u32  CRC32 of all that follows, begun with the segment's salt
 *     4  u32  length of the payload
 *     8  u8   type
 *     9  u8   flags: the entry's kind, or what the type says
 *    10  u16  zero
 *    12       payload
 */
import { crc32 } from 'node:zlib'
import { assert } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import { decodeConfiguration, encodeConfiguration } from '../core/membership.ts'
import type { Entry, EntryKind, HardState, LogIndex, SnapshotMeta, Term } from '../core/message.ts'

export type LogRecord =
  | { readonly type: 'entry'; readonly entry: Entry }
  | { readonly type: 'hardState'; readonly hardState: HardState }
  /** Entries from `from` on are void. */
  | { readonly type: 'truncation'; readonly from: LogIndex }
  /** Entries up to `base.index` may be gone. */
  | { readonly type: 'base'; readonly base: SnapshotMeta }
  /** The first record of every segment: all that a start needs when the segments before it are gone. */
  | Checkpoint

export type Checkpoint = {
  readonly type: 'checkpoint'
  /** A snapshot took the place of everything before: nothing older counts. */
  readonly reset: boolean
  readonly base: SnapshotMeta
  readonly hardState: HardState
  /** Where the log ended before this segment. */
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
}

export const recordHeaderBytes = 12
/** An entry's payload begins with its index and term. */
export const entryOverheadBytes = recordHeaderBytes + 16

const codes = { entry: 1, hardState: 2, truncation: 3, base: 4, checkpoint: 5 } as const
const kinds: readonly EntryKind[] = ['noop', 'command', 'configuration']
const voted = 1
const reset = 1

export function recordBytes(record: LogRecord): number {
  switch (record.type) {
    case 'entry':
      return entryOverheadBytes + record.entry.data.length
    case 'hardState':
      return recordHeaderBytes + hardStateBytes(record.hardState)
    case 'truncation':
      return recordHeaderBytes + 8
    case 'base':
      return recordHeaderBytes + snapshotBytes(record.base)
    case 'checkpoint':
      return recordHeaderBytes + 20 + hardStateBytes(record.hardState) + snapshotBytes(record.base)
  }
}

/** Writes the record at `at`; returns where it ends. */
export function putRecord(buffer: Buffer, at: number, record: LogRecord, salt: number): number {
  const payload = at + recordHeaderBytes
  let flags = 0
  let end = payload
  switch (record.type) {
    case 'entry': {
      const { entry } = record
      flags = kinds.indexOf(entry.kind)
      putUint53(buffer, payload, entry.index)
      putUint53(buffer, payload + 8, entry.term)
      buffer.set(entry.data, payload + 16)
      end = payload + 16 + entry.data.length
      break
    }
    case 'hardState':
      flags = record.hardState.votedFor === null ? 0 : voted
      end = putHardState(buffer, payload, record.hardState)
      break
    case 'truncation':
      putUint53(buffer, payload, record.from)
      end = payload + 8
      break
    case 'base':
      end = putSnapshot(buffer, payload, record.base)
      break
    case 'checkpoint': {
      flags = (record.reset ? reset : 0) | (record.hardState.votedFor === null ? 0 : voted << 1)
      putUint53(buffer, payload, record.lastIndex)
      putUint53(buffer, payload + 8, record.lastTerm)
      const middle = putHardState(buffer, payload + 20, record.hardState)
      buffer.writeUInt32LE(middle - payload - 20, payload + 16)
      end = putSnapshot(buffer, middle, record.base)
      break
    }
  }
  buffer.writeUInt32LE(end - payload, at + 4)
  buffer.writeUInt32LE(codes[record.type] | (flags << 8), at + 8)
  buffer.writeUInt32LE(crc32(buffer.subarray(at + 4, end), salt), at)
  return end
}

/** Where the record at `at` ends, or null when it reaches beyond `limit` or its checksum does not hold. */
export function checkRecord(
  buffer: Buffer,
  at: number,
  limit: number,
  salt: number,
): number | null {
  if (at + recordHeaderBytes > limit) return null
  const end = at + recordHeaderBytes + buffer.readUInt32LE(at + 4)
  if (end > limit) return null
  return crc32(buffer.subarray(at + 4, end), salt) === buffer.readUInt32LE(at) ? end : null
}

/**
 * The record between `at` and `end`, which `checkRecord` found whole. Data is a view of `buffer`.
 * Throws `corrupt` when the bytes are as written and still make no sense.
 */
export function parseRecord(buffer: Buffer, at: number, end: number): LogRecord {
  const payload = at + recordHeaderBytes
  const length = end - payload
  const flags = buffer.readUInt8(at + 9)
  switch (buffer.readUInt8(at + 8)) {
    case codes.entry: {
      const kind = kinds[flags]
      if (length < 16 || kind === undefined) break
      const index = getUint53(buffer, payload)
      const term = getUint53(buffer, payload + 8)
      return {
        type: 'entry',
        entry: { index, term, kind, data: buffer.subarray(payload + 16, end) },
      }
    }
    case codes.hardState:
      if (length < 16) break
      return {
        type: 'hardState',
        hardState: getHardState(buffer, payload, end, (flags & voted) !== 0),
      }
    case codes.truncation:
      if (length !== 8) break
      return { type: 'truncation', from: getUint53(buffer, payload) }
    case codes.base:
      if (length < 24) break
      return { type: 'base', base: getSnapshot(buffer, payload, end) }
    case codes.checkpoint: {
      if (length < 60) break
      const middle = payload + 20 + buffer.readUInt32LE(payload + 16)
      if (middle < payload + 36 || middle + 24 > end) break
      return {
        type: 'checkpoint',
        reset: (flags & reset) !== 0,
        lastIndex: getUint53(buffer, payload),
        lastTerm: getUint53(buffer, payload + 8),
        hardState: getHardState(buffer, payload + 20, middle, (flags & (voted << 1)) !== 0),
        base: getSnapshot(buffer, middle, end),
      }
    }
    default:
      break
  }
  throw new MusterError('corrupt', 'a record is of a type or length this program does not know')
}

/** Integers below 2^53 as 8 bytes: BigInt would cost an allocation for each of them. */
export function putUint53(buffer: Buffer, at: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, 'a stored number is a safe integer')
  buffer.writeUInt32LE(value % 0x1_0000_0000, at)
  buffer.writeUInt32LE(Math.floor(value / 0x1_0000_0000), at + 4)
}

/** One below 2^31 stays what V8 calls a small integer: a product would make it a double, an object of its own. */
export function getUint53(buffer: Buffer, at: number): number {
  const low = buffer.readUInt32LE(at)
  const high = buffer.readUInt32LE(at + 4)
  if (high === 0) return low
  const value = low + high * 0x1_0000_0000
  if (!Number.isSafeInteger(value)) {
    throw new MusterError('corrupt', 'a stored number is beyond 2^53')
  }
  return value
}

function hardStateBytes(hardState: HardState): number {
  return 16 + Buffer.byteLength(hardState.votedFor ?? '')
}

function putHardState(buffer: Buffer, at: number, hardState: HardState): number {
  putUint53(buffer, at, hardState.term)
  putUint53(buffer, at + 8, hardState.commitIndex)
  return at + 16 + buffer.write(hardState.votedFor ?? '', at + 16)
}

function getHardState(buffer: Buffer, at: number, end: number, hasVoted: boolean): HardState {
  return {
    term: getUint53(buffer, at),
    commitIndex: getUint53(buffer, at + 8),
    votedFor: hasVoted ? buffer.toString('utf8', at + 16, end) : null,
  }
}

function snapshotBytes(meta: SnapshotMeta): number {
  return 24 + encodeConfiguration(meta.configuration).length
}

function putSnapshot(buffer: Buffer, at: number, meta: SnapshotMeta): number {
  const configuration = encodeConfiguration(meta.configuration)
  putUint53(buffer, at, meta.index)
  putUint53(buffer, at + 8, meta.term)
  putUint53(buffer, at + 16, meta.configurationIndex)
  buffer.set(configuration, at + 24)
  return at + 24 + configuration.length
}

function getSnapshot(buffer: Buffer, at: number, end: number): SnapshotMeta {
  return {
    index: getUint53(buffer, at),
    term: getUint53(buffer, at + 8),
    configurationIndex: getUint53(buffer, at + 16),
    configuration: decodeConfiguration(buffer.subarray(at + 24, end)),
  }
}
