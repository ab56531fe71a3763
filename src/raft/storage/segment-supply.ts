/**
 * Makes segments ahead of time: a file full of zeros with a header, whose bytes and name are durable before it is used.
 * Appending to such a file changes neither its size nor its blocks, so a sync writes the data and nothing else.
 *
 * Zeros matter for safety too: behind the end of the log there is nothing that could be taken for a frame.
 * For the same reason files are not recycled.
 */
import { assert } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Disk, DiskFile } from './disk.ts'
import { encodeSegmentHeader, formatVersion } from './frame.ts'
import { Segment, segmentName, sequenceOf } from './segment.ts'

/** Zeros go out in pieces with a sync each, so that the log's own syncs never queue behind a whole segment. */
const pieceBytes = 1024 * 1024
const suffix = '.preparing'

export type SegmentSupplyOptions = {
  readonly disk: Disk
  readonly segmentBytes: number
  readonly newSalt: () => number
}

/** Files that a crash left half made. */
export function isUnfinished(name: string): boolean {
  return name.endsWith(suffix) && sequenceOf(name.slice(0, -suffix.length)) !== null
}

export class SegmentSupply {
  readonly #options: SegmentSupplyOptions
  /** Ready or in the making, ascending; null: the attempt failed, `take` makes another. */
  #spares: { readonly sequence: number; readonly segment: Promise<Segment | null> }[] = []
  #stopped = false

  constructor(options: SegmentSupplyOptions) {
    this.#options = options
  }

  /** An unused segment that a start found. */
  adopt(segment: Segment): void {
    this.#spares.push({ sequence: segment.sequence, segment: Promise.resolve(segment) })
  }

  /** Begins to make this segment unless it is there or under way. A failure shows only when it is taken. */
  prepare(sequence: number): void {
    if (this.#stopped || this.#spares.length > 0) return
    this.#spares.push({ sequence, segment: this.#make(sequence).catch(() => null) })
  }

  /** Resolves to the segment, waiting for it or making it now. */
  async take(sequence: number): Promise<Segment> {
    const spare = this.#spares.shift()
    if (spare !== undefined) {
      assert(spare.sequence === sequence, 'segments are taken in order')
      const segment = await spare.segment
      if (segment !== null) return segment
    }
    return this.#make(sequence)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const spares = this.#spares
    this.#spares = []
    for (const spare of spares) await (await spare.segment)?.close()
  }

  async #make(sequence: number): Promise<Segment> {
    const { disk, segmentBytes, newSalt } = this.#options
    const name = segmentName(sequence)
    const temporary = name + suffix
    await this.#discard(sequence)
    const salt = newSalt()
    const file = await disk.create(temporary)
    try {
      await this.#fill(file, encodeSegmentHeader({ version: formatVersion, sequence, salt }))
      await disk.rename(temporary, name)
      await disk.syncFolder()
    } catch (error) {
      await file.close().catch(() => undefined)
      // On a full disk half a segment is space that others need. The next start removes what stays.
      await this.#discard(sequence).catch(() => undefined)
      throw error
    }
    return new Segment({ folder: disk.path, sequence, salt, file, size: segmentBytes })
  }

  async #fill(file: DiskFile, header: Buffer): Promise<void> {
    const { segmentBytes } = this.#options
    const piece = Buffer.alloc(Math.min(pieceBytes, segmentBytes))
    header.copy(piece)
    for (let at = 0; at < segmentBytes; at += piece.length) {
      if (this.#stopped) throw new MusterError('cancelled', 'the log is being closed')
      await file.write(piece.subarray(0, Math.min(piece.length, segmentBytes - at)), at)
      await file.sync()
      if (at === 0) piece.fill(0, 0, header.length)
    }
  }

  /** Removes what an earlier attempt at this segment left. Nothing in it was ever used. */
  async #discard(sequence: number): Promise<void> {
    const { disk } = this.#options
    const name = segmentName(sequence)
    for (const found of await disk.list()) {
      if (found === name || found === name + suffix) await disk.remove(found)
    }
  }
}
