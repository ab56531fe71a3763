/**
 * One file of the log: where its entries lie, and reading them. No entry data is kept in memory.
 */
import path from 'node:path'
import { assert, present } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Entry, LogIndex } from '../core/message.ts'
import type { DiskFile } from './disk.ts'
import { segmentHeaderBytes } from './frame.ts'
import { checkRecord, entryOverheadBytes, parseRecord } from './record.ts'

/** One read asks for no more than this, unless a single entry is larger. It is also what a kept entry can pin in memory. */
const readBytesMax = 1024 * 1024
/** Void records between two entries: beyond this a second read is cheaper than reading over them. */
const gapBytesMax = 64 * 1024

const namePattern = /^log-(\d{16})\.muster$/

export function segmentName(sequence: number): string {
  return `log-${String(sequence).padStart(16, '0')}.muster`
}

/** Null for files that are not segments. */
export function sequenceOf(name: string): number | null {
  const digits = namePattern.exec(name)?.[1]
  return digits === undefined ? null : Number(digits)
}

/** The error that stops a server whose log lost something, with what its operator can do. */
export function damaged(
  place: { readonly folder: string; readonly name: string; readonly offset: number },
  what: string,
  cause?: unknown,
): MusterError {
  return new MusterError(
    'corrupt',
    `${path.join(place.folder, place.name)} is damaged at byte ${place.offset}: ${what}. ${whatToDo}`,
    { cause },
  )
}

/** As `damaged`, of a log that was there once. */
export function gone(folder: string): MusterError {
  return new MusterError(
    'corrupt',
    `${folder} holds no log, but this server had one: without its votes and entries it could undo what it acknowledged. ${whatToDo}`,
  )
}

/** An older copy passes every check, and lacks what was acknowledged since. */
const whatToDo =
  'While a majority of the other servers is healthy, remove this server from the cluster, move its data folder away and let it join as a new one. A copy of these files that is older than the last write must not be put in their place'

/** Positions of consecutive entries in one file: eight bytes of memory for each. */
export class EntryOffsets {
  firstIndex: LogIndex = 0
  count = 0
  #offsets = new Uint32Array(64)
  #lengths = new Uint32Array(64)

  /** Index of the last entry; meaningless while `count` is 0. */
  get lastIndex(): LogIndex {
    return this.firstIndex + this.count - 1
  }

  push(index: LogIndex, offset: number, dataBytes: number): void {
    if (this.count === 0) this.firstIndex = index
    assert(index === this.lastIndex + 1, 'entries of a segment are consecutive')
    if (this.count === this.#offsets.length) {
      this.#offsets = doubled(this.#offsets)
      this.#lengths = doubled(this.#lengths)
    }
    this.#offsets[this.count] = offset
    this.#lengths[this.count] = dataBytes
    this.count++
  }

  truncate(from: LogIndex): void {
    if (this.count > 0) this.count = Math.min(this.count, Math.max(0, from - this.firstIndex))
  }

  clear(): void {
    this.count = 0
  }

  offsetOf(index: LogIndex): number {
    assert(index >= this.firstIndex && index <= this.lastIndex, 'the entry is in the segment')
    return present(this.#offsets[index - this.firstIndex], 'an offset')
  }

  dataBytesOf(index: LogIndex): number {
    assert(index >= this.firstIndex && index <= this.lastIndex, 'the entry is in the segment')
    return present(this.#lengths[index - this.firstIndex], 'a length')
  }
}

function doubled(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}

type Span = { readonly from: LogIndex; to: LogIndex; readonly start: number; end: number }

export class Segment {
  readonly sequence: number
  readonly salt: number
  readonly file: DiskFile
  readonly entries = new EntryOffsets()
  /** Bytes of the file, zeros included: `end <= size`. */
  size: number
  /** Where the next frame goes. */
  end = segmentHeaderBytes
  readonly #folder: string
  #readers = 0
  #closing: PromiseWithResolvers<void> | null = null

  constructor(options: {
    folder: string
    sequence: number
    salt: number
    file: DiskFile
    size: number
  }) {
    this.#folder = options.folder
    this.sequence = options.sequence
    this.salt = options.salt
    this.file = options.file
    this.size = options.size
  }

  get name(): string {
    return segmentName(this.sequence)
  }

  /** Holds at least one frame. */
  get used(): boolean {
    return this.end > segmentHeaderBytes
  }

  damagedAt(offset: number, what: string, cause?: unknown): MusterError {
    return damaged({ folder: this.#folder, name: this.name, offset }, what, cause)
  }

  /** The entries `from` to `to`, both of this segment. May overlap with writing, and with `close`, which waits. */
  async read(from: LogIndex, to: LogIndex): Promise<Entry[]> {
    const spans = this.#spans(from, to)
    assert(this.#closing === null, 'a segment is read before it is closed')
    this.#readers++
    try {
      const entries: Entry[] = []
      for (const span of spans) entries.push(...(await this.#readSpan(span)))
      return entries
    } finally {
      this.#readers--
      this.#maybeFree()
    }
  }

  /** Offsets are taken before the first wait: a truncation meanwhile changes the index, never the bytes. */
  #spans(from: LogIndex, to: LogIndex): (Span & { readonly offsets: number[] })[] {
    const spans: (Span & { readonly offsets: number[] })[] = []
    for (let index = from; index <= to; index++) {
      const start = this.entries.offsetOf(index)
      const end = start + entryOverheadBytes + this.entries.dataBytesOf(index)
      const last = spans.at(-1)
      if (
        last !== undefined &&
        end - last.start <= readBytesMax &&
        start - last.end <= gapBytesMax
      ) {
        last.to = index
        last.end = end
        last.offsets.push(start)
      } else {
        spans.push({ from: index, to: index, start, end, offsets: [start] })
      }
    }
    return spans
  }

  async #readSpan(span: Span & { readonly offsets: readonly number[] }): Promise<Entry[]> {
    // Not from Node's pool: entries are kept as views of this buffer.
    const buffer = Buffer.allocUnsafeSlow(span.end - span.start)
    const filled = await this.file.read(buffer, span.start)
    return span.offsets.map((offset, position) => {
      const end = checkRecord(buffer.subarray(0, filled), offset - span.start, filled, this.salt)
      if (end === null) throw this.damagedAt(offset, 'the checksum of an entry does not hold')
      const record = parseRecord(buffer, offset - span.start, end)
      if (record.type !== 'entry' || record.entry.index !== span.from + position) {
        throw this.damagedAt(offset, `there is another record than entry ${span.from + position}`)
      }
      return record.entry
    })
  }

  /** Closes the file once no reader is left. */
  async close(): Promise<void> {
    assert(this.#closing === null, 'a segment is closed once')
    this.#closing = Promise.withResolvers()
    this.#maybeFree()
    await this.#closing.promise
    await this.file.close()
  }

  #maybeFree(): void {
    if (this.#readers === 0) this.#closing?.resolve()
  }
}
