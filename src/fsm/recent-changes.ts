/**
 * The keys that changed lately and the index of their last change: tells a reader that comes back with an old index
 * whether anything it reads has changed since, although its table has.
 *
 * Kept as bytes in blocks, of which the oldest is filled anew: as strings, tens of thousands of keys would be copied by the garbage
 * collector, each to die soon after it has grown old.
 */
import { present } from '../lib/assert.ts'
import { firstWhere } from '../lib/binary-search.ts'
import type { Touched } from './touched.ts'

/** Keys of one block at most. */
const blockKeysMax = 512

/** Into how many blocks what is remembered is divided: a full one is forgotten as a whole. */
const blocksMin = 4

/** Bytes that a block begins with; it grows to what its keys take, */
const blockBytes = 16 * 1024

/** and goes when it is forgotten, if it grew to more than this. */
const reusedBytesMax = 128 * 1024

/** With more to look for, keys are looked up one by one. */
const soughtMax = 8

/** Before and behind each key. A part of a key that is a text has no such characters; in a number they do no harm. */
const mark = '\x00\x03'

/** `bytes` begin with a mark, and the key of a slot ends with the mark before `ends[slot]`. */
type Block = {
  readonly indexes: Float64Array
  readonly ends: Uint32Array
  bytes: Buffer
  count: number
}

export class RecentChanges {
  readonly #blockKeys: number
  readonly #blocksMax: number
  /** Oldest first. Not empty; all but the last are full. */
  #blocks: Block[]
  /** All changes after this index are in the blocks. */
  #knownFrom: number

  /** Of `max` keys at least three quarters are remembered. `index`: as of `forget`. */
  constructor(max: number, index: number) {
    this.#blockKeys = Math.max(1, Math.min(blockKeysMax, Math.floor(max / blocksMin)))
    this.#blocksMax = Math.max(2, Math.floor(max / this.#blockKeys))
    this.#blocks = [emptyBlock(this.#blockKeys)]
    this.#knownFrom = index
  }

  /** Of one entry. `index`: not below that of the entry before. */
  add(index: number, keys: readonly string[]): void {
    for (let at = 0; at < keys.length;) {
      const block = this.#withRoom()
      const room = this.#blockKeys - block.count
      const some = keys.length <= room ? keys : keys.slice(at, at + room)
      put(block, index, some)
      at += some.length
    }
  }

  /** Everything may have changed at `index`. */
  forget(index: number): void {
    this.#blocks = [emptyBlock(this.#blockKeys)]
    this.#knownFrom = index
  }

  changedSince(index: number, touched: Touched): boolean | 'unknown' {
    if (index < this.#knownFrom) return 'unknown'
    const newest = this.#blocks.at(-1)
    if (newest === undefined || lastIndexOf(newest) <= index) return false
    const { keys, prefixes } = touched
    const isSought = keys.size + prefixes.size > soughtMax ? lookUp(touched) : search(touched)
    // Backwards from the newest: what is older than `index` is not looked at.
    for (let at = this.#blocks.length - 1; at >= 0; at -= 1) {
      const block = present(this.#blocks[at], 'a block')
      const slot = slotAfter(block, index)
      if (slot < block.count && isSought(block, slot)) return true
      if (slot > 0) return false
    }
    return false
  }

  #withRoom(): Block {
    const newest = present(this.#blocks.at(-1), 'the newest block')
    if (newest.count < this.#blockKeys) return newest
    const next = this.#nextBlock()
    this.#blocks.push(next)
    return next
  }

  #nextBlock(): Block {
    if (this.#blocks.length < this.#blocksMax) return emptyBlock(this.#blockKeys)
    const oldest = present(this.#blocks.shift(), 'the oldest block')
    this.#knownFrom = lastIndexOf(oldest)
    if (oldest.bytes.byteLength > reusedBytesMax) return emptyBlock(this.#blockKeys)
    oldest.count = 0
    return oldest
  }
}

/** All at once: a call of the encoder for each key would cost more than the rest. */
function put(block: Block, index: number, keys: readonly string[]): void {
  let text = ''
  for (const key of keys) text += key + mark
  let end = endOf(block, block.count)
  growTo(block, end + 3 * text.length)
  const isAscii = block.bytes.write(text, end) === text.length
  for (const key of keys) {
    end += (isAscii ? key.length : Buffer.byteLength(key)) + mark.length
    block.indexes[block.count] = index
    block.ends[block.count] = end
    block.count += 1
  }
}

function growTo(block: Block, needed: number): void {
  if (needed <= block.bytes.byteLength) return
  const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * block.bytes.byteLength))
  larger.set(block.bytes)
  block.bytes = larger
}

type Seeker = (block: Block, fromSlot: number) => boolean

/** Looks for few keys and prefixes in the bytes of all keys at once. */
function search({ keys, prefixes }: Touched): Seeker {
  const sought: Buffer[] = []
  for (const key of keys) sought.push(Buffer.from(mark + key + mark))
  for (const prefix of prefixes) sought.push(Buffer.from(mark + prefix))
  return (block, fromSlot) => {
    const from = endOf(block, fromSlot) - mark.length
    const among = block.bytes.subarray(from, endOf(block, block.count))
    return sought.some((bytes) => among.includes(bytes))
  }
}

function lookUp({ keys, prefixes }: Touched): Seeker {
  const fronts = [...prefixes]
  return (block, fromSlot) => {
    for (let slot = fromSlot; slot < block.count; slot += 1) {
      const end = endOf(block, slot + 1) - mark.length
      const key = block.bytes.toString('utf8', endOf(block, slot), end)
      if (keys.has(key) || fronts.some((front) => key.startsWith(front))) return true
    }
    return false
  }
}

function emptyBlock(keys: number): Block {
  const bytes = Buffer.allocUnsafeSlow(blockBytes)
  bytes.write(mark)
  return { indexes: new Float64Array(keys), ends: new Uint32Array(keys), bytes, count: 0 }
}

/** Where the keys of the first `slots` slots end. */
function endOf({ ends }: Block, slots: number): number {
  return slots === 0 ? mark.length : present(ends[slots - 1], 'the end of a key')
}

/** 0 of an empty block. */
function lastIndexOf({ indexes, count }: Block): number {
  return count === 0 ? 0 : present(indexes[count - 1], 'the index of a change')
}

/** The first slot of a change after `index`; the count when there is none. */
function slotAfter({ indexes, count }: Block, index: number): number {
  return firstWhere(0, count, (slot) => present(indexes[slot], 'the index of a change') > index)
}
