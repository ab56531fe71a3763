/**
 * Whether a table file of LevelDB holds what LevelDB wrote to it. LevelDB itself does not look: it returns what is in a block, and
 * a compaction copies it.
 *
 * The file is a row of blocks: data, the filter, the metaindex that names the filter, the index that names the data; then a footer
 * that names the last two. A block ends with its kind (plain or Snappy) and a checksum of both. Each byte of a file belongs to
 * a block or to the footer, so a file in which all of them are right is whole.
 */
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { systemCodeOf } from '../lib/errors.ts'
import { maskedCrc32c } from './crc32c.ts'
import { readFully } from './level-folder.ts'
import { unsnappy, varintAt } from './snappy.ts'

const footerBytes = 48
const magic = Buffer.from('57fb808b247547db', 'hex')
const trailerBytes = 5
const kindPlain = 0
const kindSnappy = 1

/** What is read and checked at a time; a block that is longer is read whole. */
const sliceBytes = 256 * 1024

/** Where a block is, without its trailer. */
type Block = { readonly offset: number; readonly bytes: number }

/**
 * What is wrong with the file, null when nothing is, or when it is gone. `pace` is awaited after each piece that was read; once it
 * resolves to false the check ends, with null.
 */
export async function damageOfTable(
  path: string,
  pace: (bytes: number) => Promise<boolean>,
): Promise<string | null> {
  let file: FileHandle
  try {
    file = await open(path, 'r')
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return null
    throw error
  }
  try {
    return await damageOf(file, pace)
  } finally {
    await file.close()
  }
}

async function damageOf(
  file: FileHandle,
  pace: (bytes: number) => Promise<boolean>,
): Promise<string | null> {
  const { size } = await file.stat()
  if (size < footerBytes) return `it has ${size} bytes, fewer than any table file`
  const end = size - footerBytes
  const roots = rootsIn(await bytesAt(file, end, footerBytes))
  if (roots === null) return `its last ${footerBytes} bytes are not those of a table file`
  const blocks: Block[] = []
  for (const root of roots) {
    if (root.offset + root.bytes + trailerBytes > end) return `it is cut, at byte ${size} or before`
    const stored = await bytesAt(file, root.offset, root.bytes + trailerBytes)
    const named = isSound(stored) ? blocksIn(contentOf(stored)) : null
    if (named === null) return damagedAt(root.offset)
    blocks.push(...named)
    if (!(await pace(stored.byteLength))) return null
  }
  blocks.sort((left, right) => left.offset - right.offset)
  // The two that were read just now come last.
  let next = 0
  for (const { offset, bytes } of [...blocks, ...roots]) {
    if (offset !== next) return damagedAt(next)
    next = offset + bytes + trailerBytes
  }
  if (next !== end) return damagedAt(next)
  for (const slice of slicesOf(blocks)) {
    const [first] = slice
    const last = slice.at(-1)
    if (first === undefined || last === undefined) continue
    const bytes = last.offset + last.bytes + trailerBytes - first.offset
    const stored = await bytesAt(file, first.offset, bytes)
    for (const block of slice) {
      const from = block.offset - first.offset
      if (!isSound(stored.subarray(from, from + block.bytes + trailerBytes))) {
        return damagedAt(block.offset)
      }
    }
    if (!(await pace(bytes))) return null
  }
  return null
}

function damagedAt(offset: number): string {
  return `its block at byte ${offset} does not hold what was written to it`
}

/** Shorter where the file ends. */
async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, await readFully(file, bytes, position, length))
}

/** The metaindex and the index. */
function rootsIn(footer: Buffer): readonly [Block, Block] | null {
  const metaindex = blockAt(footer, 0)
  const index = metaindex && blockAt(footer, metaindex.end)
  if (metaindex === null || index === null || footer.byteLength < footerBytes) return null
  const padding = footer.subarray(index.end, footerBytes - magic.byteLength)
  if (padding.some((byte) => byte !== 0) || !footer.subarray(-magic.byteLength).equals(magic)) {
    return null
  }
  return [metaindex.block, index.block]
}

function blockAt(bytes: Buffer, at: number): { block: Block; end: number } | null {
  const offset = varintAt(bytes, at)
  const length = offset && varintAt(bytes, offset.end)
  if (offset === null || length === null) return null
  return { block: { offset: offset.value, bytes: length.value }, end: length.end }
}

/** `stored`: a block with its trailer. */
function isSound(stored: Buffer): boolean {
  const end = stored.byteLength - 4
  return end > 0 && maskedCrc32c(stored, 0, end) === stored.readUInt32LE(end)
}

function contentOf(stored: Buffer): Buffer | null {
  const content = stored.subarray(0, -trailerBytes)
  const kind = stored[content.byteLength]
  if (kind === kindSnappy) return unsnappy(content)
  return kind === kindPlain ? content : null
}

/** The blocks that an index names, which are its values: pairs of keys and values, each key without what it shares with the last. */
function blocksIn(index: Buffer | null): Block[] | null {
  if (index === null || index.byteLength < 4) return null
  const end = index.byteLength - 4 - 4 * index.readUInt32LE(index.byteLength - 4)
  const blocks: Block[] = []
  let at = 0
  while (at < end) {
    const shared = varintAt(index, at)
    const own = shared && varintAt(index, shared.end)
    const value = own && varintAt(index, own.end)
    if (own === null || value === null) return null
    const from = value.end + own.value
    const named = blockAt(index, from)
    if (named === null || named.end !== from + value.value) return null
    blocks.push(named.block)
    at = named.end
  }
  return at === end ? blocks : null
}

/** Blocks one after the other, together what is read at a time. */
function* slicesOf(blocks: readonly Block[]): Generator<readonly Block[]> {
  let slice: Block[] = []
  let bytes = 0
  for (const block of blocks) {
    if (bytes + block.bytes > sliceBytes && slice.length > 0) {
      yield slice
      slice = []
      bytes = 0
    }
    slice.push(block)
    bytes += block.bytes + trailerBytes
  }
  if (slice.length > 0) yield slice
}
