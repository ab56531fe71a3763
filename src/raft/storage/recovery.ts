/**
 * Reads the log at start, and tells a torn tail from damage.
 *
 * Frames are numbered without gaps, and a frame is written only after the one before was synced. So when frame N is
 * not where it should be:
 * - a frame after N exists, behind it or in a later segment: N was acknowledged and is lost. Damage, the server stops.
 * - nothing after N exists, and some whole sector of N is still zero: the crash came while N was written. N was
 *   never acknowledged, it is cut off.
 * - nothing after N exists, and every sector of N was written: no crash leaves that, the bytes changed afterwards.
 *   Damage, even at the very end of the log, where cutting would silently take back an acknowledged vote or entry.
 *
 * Cutting writes zeros over the remains and syncs them before the next frame is written. Sequence N is used again
 * then, and nothing of the old N is left that could be taken for it. A crash in between leaves fewer remains, of
 * which at least the missing sector is still zero: the next start cuts again.
 *
 * The last whole frame may be in the page cache only: the process died, or its sync failed and the kernel took the
 * pages for clean. It is written and synced once more before the log builds on it; all earlier frames were
 * synced before their successor was written.
 */
import path from 'node:path'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Disk } from './disk.ts'
import {
  aligned,
  checkFrame,
  findFrame,
  formatVersion,
  frameHeaderBytes,
  parseFrameHeader,
  parseSegmentHeader,
  sectorBytes,
  segmentHeaderBytes,
} from './frame.ts'
import type { FrameHeader } from './frame.ts'
import type { LogMap } from './log-map.ts'
import { parseRecord } from './record.ts'
import { damaged, gone, Segment, segmentName, sequenceOf } from './segment.ts'
import { isUnfinished } from './segment-supply.ts'

export type Recovery = {
  /** The sequence of the next frame. */
  readonly nextFrame: number
  /** Prepared segments that were not used yet, ascending. */
  readonly spares: readonly Segment[]
}

/**
 * Fills `map` with what the folder holds. Everything it reports is durable. Throws `corrupt` or `incompatible`.
 * `mayBegin`: there may be no log.
 */
export async function recover(
  disk: Disk,
  map: LogMap,
  { mayBegin }: { readonly mayBegin: boolean },
): Promise<Recovery> {
  const sequences = await listSegments(disk)
  if (sequences.length === 0 && !mayBegin) throw gone(disk.path)
  const opened: Segment[] = []
  try {
    const replay = new Replay(map)
    const reader = segmentReader(disk)
    for (const sequence of sequences) {
      const { segment, bytes } = await reader(sequence)
      opened.push(segment)
      replay.segment(segment, bytes)
    }
    await replay.end()
    const spares = opened.filter((segment) => !segment.used)
    return { nextFrame: replay.nextFrame, spares }
  } catch (error) {
    for (const segment of opened) await segment.close().catch(() => undefined)
    throw error
  }
}

async function listSegments(disk: Disk): Promise<readonly number[]> {
  const names = await disk.list()
  for (const name of names.filter(isUnfinished)) await disk.remove(name)
  // Names that this process sees may not be durable: the one before may have died before it synced the folder.
  await disk.syncFolder()
  const sequences = names
    .map(sequenceOf)
    .filter((sequence) => sequence !== null)
    .sort((a, b) => a - b)
  for (const [at, sequence] of sequences.entries()) {
    const expected = (sequences[0] ?? 0) + at
    if (sequence !== expected) {
      const place = { folder: disk.path, name: segmentName(expected), offset: 0 }
      throw damaged(place, 'the file is missing, older and newer ones are there')
    }
  }
  return sequences
}

type ReadSegment = { readonly segment: Segment; readonly bytes: Buffer }

/** Reads whole files, into one buffer that all of them share: the bytes hold until the next call. */
function segmentReader(disk: Disk): (sequence: number) => Promise<ReadSegment> {
  let scratch = Buffer.alloc(0)
  return async (sequence) => {
    const name = segmentName(sequence)
    const file = await disk.open(name)
    try {
      const size = await file.size()
      if (scratch.length < size) scratch = Buffer.allocUnsafeSlow(size)
      const bytes = scratch.subarray(0, await file.read(scratch.subarray(0, size), 0))
      const salt = checkHeader(disk, name, sequence, bytes)
      const segment = new Segment({ folder: disk.path, sequence, salt, file, size: bytes.length })
      return { segment, bytes }
    } catch (error) {
      await file.close().catch(() => undefined)
      throw error
    }
  }
}

/** Returns the salt. */
function checkHeader(disk: Disk, name: string, sequence: number, bytes: Buffer): number {
  const header = parseSegmentHeader(bytes)
  if (header === null || header.sequence !== sequence || header.version < 1) {
    const place = { folder: disk.path, name, offset: 0 }
    throw damaged(place, 'the header of the file does not check')
  }
  if (header.version > formatVersion) {
    throw new MusterError(
      'incompatible',
      `${path.join(disk.path, name)} is of log format ${header.version} and this program knows formats up to ${formatVersion}: start the version of the program that wrote it, or a newer one`,
    )
  }
  return header.salt
}

/** Bytes behind the end of the log that are not zero. */
type Remains = {
  readonly segment: Segment
  readonly start: number
  readonly end: number
  readonly torn: boolean
}

class Replay {
  nextFrame = 1
  readonly #map: LogMap
  #first: Segment | null = null
  /** Where the next frame was missed first. */
  #end: { readonly segment: Segment; readonly offset: number } | null = null
  #last: { readonly segment: Segment; readonly start: number; readonly bytes: number } | null = null
  #remains: Remains[] = []

  constructor(map: LogMap) {
    this.#map = map
  }

  segment(segment: Segment, bytes: Buffer): void {
    let at = segmentHeaderBytes
    if (this.#first === null) {
      this.#first = segment
      const header = parseFrameHeader(bytes, at, segment.salt)
      // Older segments were compacted away: numbering goes on from where this one begins.
      if (segment.sequence > 1) {
        if (header === null) throw segment.damagedAt(at, 'the first frame of the log is missing')
        this.nextFrame = header.sequence
      }
    }
    for (;;) {
      const header = parseFrameHeader(bytes, at, segment.salt)
      if (header === null || header.sequence !== this.nextFrame) break
      const offsets = checkFrame(bytes, at, header, segment.salt)
      if (offsets === null) break
      if (at === segmentHeaderBytes) this.#enter(segment)
      this.#apply(segment, bytes, at, offsets)
      const end = aligned(at + frameHeaderBytes + header.bodyBytes)
      this.#last = { segment, start: at, bytes: end - at }
      this.nextFrame++
      at = end
      segment.end = at
      this.#end = { segment, offset: at }
      this.#remains = []
    }
    this.#behind(segment, bytes, at)
  }

  async end(): Promise<void> {
    const first = this.#first
    if (first === null) return
    const damage = this.#remains.find((remains) => !remains.torn)
    if (damage !== undefined) {
      throw damage.segment.damagedAt(
        damage.start,
        'the last frame was written whole and does not check',
      )
    }
    if (this.#last === null && first.sequence > 1) {
      throw first.damagedAt(segmentHeaderBytes, 'the first frame of the log does not check')
    }
    if (!this.#map.isWhole()) {
      throw first.damagedAt(0, 'entries are missing that files before this one held')
    }
    for (const remains of this.#remains) await cut(remains)
    if (this.#last !== null) {
      const { segment, start, bytes } = this.#last
      const frame = Buffer.alloc(bytes)
      await segment.file.read(frame, start)
      await segment.file.write(frame, start)
      await segment.file.sync()
    }
  }

  /** The log goes on in this segment. */
  #enter(segment: Segment): void {
    const before = this.#map.segments.at(-1)
    if (segment !== this.#first && before?.sequence !== segment.sequence - 1) {
      throw segment.damagedAt(0, 'it is in use although the file before it is empty')
    }
    this.#map.segments.push(segment)
  }

  #apply(segment: Segment, bytes: Buffer, at: number, offsets: readonly number[]): void {
    for (let record = 0; record + 1 < offsets.length; record++) {
      const start = offsets[record] ?? 0
      try {
        const parsed = parseRecord(bytes, start, offsets[record + 1] ?? 0)
        if ((parsed.type === 'checkpoint') !== (at === segmentHeaderBytes && record === 0)) {
          throw new MusterError('corrupt', 'a checkpoint begins every segment, and only that')
        }
        this.#map.apply(parsed, segment, start)
      } catch (error) {
        throw segment.damagedAt(start, textOf(error), error)
      }
    }
  }

  /** Looks at what lies from `at` on, where the next frame is not. */
  #behind(segment: Segment, bytes: Buffer, at: number): void {
    const end = nonZeroEnd(bytes, at)
    const written = bytes.subarray(0, aligned(end))
    const header = parseFrameHeader(bytes, at, segment.salt)
    const begun = header?.sequence === this.nextFrame ? header : null
    const later =
      begun === null
        ? findFrame(written, at, segment.salt, this.nextFrame)
        : findFrame(written, at + frameHeaderBytes, segment.salt, this.nextFrame)
    if (later !== null) {
      // A later frame where this file begins: the one before it is missing at the end of the file before.
      const lost = later === segmentHeaderBytes && this.#end !== null ? this.#end : null
      const place = lost ?? { segment, offset: at }
      throw place.segment.damagedAt(
        place.offset,
        `frame ${this.nextFrame} does not check, and later ones are there`,
      )
    }
    this.#end ??= { segment, offset: at }
    if (end > at) this.#remains.push({ segment, start: at, end, torn: isTorn(bytes, at, begun) })
  }
}

/**
 * Where the sync fails, the kernel may take zeros for clean that the disk does not hold: the next start would find nothing to cut,
 * and write a frame between remains. So they are put back, for that start to cut them again.
 */
async function cut({ segment: { file }, start, end }: Remains): Promise<void> {
  const before = Buffer.alloc(end - start)
  await file.read(before, start)
  await file.write(Buffer.alloc(end - start), start)
  try {
    await file.sync()
  } catch (error) {
    await file.write(before, start)
    throw error
  }
}

/** Whether a crash while the frame at `at` was written can have left this. `header`: the frame's, if that checks. */
function isTorn(bytes: Buffer, at: number, header: FrameHeader | null): boolean {
  // A header lies within one sector, so it is there or it is zero, or the file ends before it does.
  if (header === null) {
    return at + frameHeaderBytes > bytes.length || isZero(bytes.subarray(at, at + frameHeaderBytes))
  }
  const end = at + frameHeaderBytes + header.bodyBytes
  // A frame larger than its file was to make it grow.
  if (end > bytes.length) return true
  for (let start = at; start < end;) {
    const next = Math.min(end, start - (start % sectorBytes) + sectorBytes)
    if (isZero(bytes.subarray(start, next))) return true
    start = next
  }
  return false
}

const zeros = Buffer.alloc(4096)

function isZero(bytes: Buffer): boolean {
  return nonZeroEnd(bytes, 0) === 0
}

/** One past the last byte from `from` on that is not zero; `from` when all are. */
function nonZeroEnd(bytes: Buffer, from: number): number {
  let end = bytes.length
  while (end > from) {
    const start = Math.max(from, end - zeros.length)
    const piece = bytes.subarray(start, end)
    if (!piece.equals(zeros.subarray(0, piece.length))) {
      while (bytes[end - 1] === 0) end--
      return end
    }
    end = start
  }
  return from
}
