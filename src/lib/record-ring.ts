/**
 * Small records in the order of their indexes, of which the oldest go. The bytes of many lie one after another in one block, with
 * their numbers beside them: a record costs its owner a copy of its bytes, and the garbage collector nothing. As objects, tens of
 * thousands of them would be copied twice each and then marked over and over.
 *
 * A place is the number of a record since the beginning: no two have the same.
 */
import { present } from './assert.ts'
import { firstWhere } from './binary-search.ts'

/** Records of one block. As long as one of them is there, so are the bytes of all of them. */
export const blockRecords = 64

/** Bytes that a block is made with: a little more than the one before it took, within these bounds. */
const blockBytesMin = 1_024
const blockBytesMax = 64 * 1_024
/** Its records seldom take just as many. What is not used is kept for as long as they are, so it is little. */
const spareShare = 1 / 8

type Block = {
  readonly indexes: Float64Array
  readonly tags: Uint16Array
  /** Where the bytes of each record end. */
  readonly ends: Uint32Array
  bytes: Buffer
  count: number
  /** Bytes of its records. */
  used: number
}

export class RingRecord {
  readonly place: number
  readonly #block: Block
  readonly #slot: number

  constructor(place: number, block: Block, slot: number) {
    this.place = place
    this.#block = block
    this.#slot = slot
  }

  get tag(): number {
    return present(this.#block.tags[this.#slot], 'a tag')
  }

  get byteLength(): number {
    return endOf(this.#block, this.#slot) - startOf(this.#block, this.#slot)
  }

  /** Not to be changed. */
  get bytes(): Buffer {
    const { bytes } = this.#block
    return bytes.subarray(startOf(this.#block, this.#slot), endOf(this.#block, this.#slot))
  }
}

export class RecordRing {
  #blocks: Block[] = []
  /** The place of the first record of the first block. All blocks but the last are full. */
  #base = 0
  /** `#base <= #first <= #end`. */
  #first = 0
  #end = 0

  /** Of the oldest record; `endPlace` when there is none. */
  get firstPlace(): number {
    return this.#first
  }

  /** Of the record that comes next. */
  get endPlace(): number {
    return this.#end
  }

  /** `index`: not below that of the record before. `tag`: below 2^16. */
  append(index: number, tag: number, bytes: Uint8Array): void {
    const block = this.#withRoom(bytes.byteLength)
    const slot = block.count
    block.bytes.set(bytes, block.used)
    block.indexes[slot] = index
    block.tags[slot] = tag
    block.used += bytes.byteLength
    block.ends[slot] = block.used
    block.count += 1
    this.#end += 1
  }

  /** As it is for as long as the caller keeps it, also after it went. */
  recordAt(place: number): RingRecord {
    return new RingRecord(place, this.#blockOf(place), this.#slotOf(place))
  }

  indexAt(place: number): number {
    return present(this.#blockOf(place).indexes[this.#slotOf(place)], 'an index')
  }

  /** Of the first record with `index` or a higher one; `endPlace` when there is none. */
  placeOf(index: number): number {
    return firstWhere(this.#first, this.#end, (place) => this.indexAt(place) >= index)
  }

  /** The oldest record, of which there must be one; it is there no more. */
  takeFirst(): RingRecord {
    const record = this.recordAt(this.#first)
    this.#first += 1
    if (this.#first - this.#base === blockRecords) {
      this.#blocks.shift()
      this.#base = this.#first
    }
    return record
  }

  /** Places go on. */
  clear(): void {
    this.#blocks = []
    this.#first = this.#end
    this.#base = this.#end
  }

  #blockOf(place: number): Block {
    const isThere = place >= this.#first && place < this.#end
    const at = Math.floor((place - this.#base) / blockRecords)
    return present(isThere ? this.#blocks[at] : undefined, 'the block of a record')
  }

  #slotOf(place: number): number {
    return (place - this.#base) % blockRecords
  }

  #withRoom(byteLength: number): Block {
    const newest = this.#blocks.at(-1)
    if (newest === undefined || newest.count === blockRecords) {
      const likely = withSpare(newest?.used ?? 0)
      const bytes = Math.min(Math.max(likely, blockBytesMin), blockBytesMax)
      const block = newBlock(Math.max(bytes, byteLength))
      this.#blocks.push(block)
      return block
    }
    const needed = newest.used + byteLength
    if (needed > newest.bytes.byteLength) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, withSpare(newest.bytes.byteLength)))
      larger.set(newest.bytes.subarray(0, newest.used))
      newest.bytes = larger
    }
    return newest
  }
}

function newBlock(bytes: number): Block {
  return {
    indexes: new Float64Array(blockRecords),
    tags: new Uint16Array(blockRecords),
    ends: new Uint32Array(blockRecords),
    bytes: Buffer.allocUnsafeSlow(bytes),
    count: 0,
    used: 0,
  }
}

function withSpare(bytes: number): number {
  return Math.ceil(bytes * (1 + spareShare))
}

function startOf(block: Block, slot: number): number {
  return slot === 0 ? 0 : endOf(block, slot - 1)
}

function endOf({ ends }: Block, slot: number): number {
  return present(ends[slot], 'an end')
}
