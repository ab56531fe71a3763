/** Archives of zip: the list at the end says what is there. */
import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { crc32, createInflateRaw } from 'node:zlib'
import { MusterError } from '../../../lib/errors.ts'
import { gather } from '../../../lib/gather.ts'
import type { Destination } from './destination.ts'

const endBytes = 22
const commentBytesMax = 65_535
const listBytesMax = 32 * 1024 * 1024
const targetBytesMax = 4_096
const signs = { end: 0x06054b50, entry: 0x02014b50, local: 0x04034b50 } as const

type Entry = {
  readonly path: string
  readonly method: number
  readonly isSecret: boolean
  readonly packed: number
  readonly size: number
  readonly sum: number
  readonly mode: number
  readonly at: number
}

/** Rejects with `corrupt` for what is none, and as the destination. */
export async function unpackZip(file: FileHandle, to: Destination): Promise<void> {
  for (const entry of await entriesOf(file)) {
    const { path, mode, isSecret } = entry
    if (isSecret) throw new MusterError('invalid_argument', `${path} is encrypted`)
    const kind = mode & 0o170000
    if (path.endsWith('/')) await to.folder(path)
    else if (kind === 0o120000) {
      const target = await gather(contentOf(file, entry), targetBytesMax)
      if (target === null) throw broken('a link is too long')
      to.link(path, target.toString('utf8'))
    } else if (kind === 0 || kind === 0o100000) {
      const permissions = (mode & 0o777) === 0 ? 0o644 : mode
      await to.file(path, permissions, contentOf(file, entry))
    } else throw new MusterError('invalid_argument', `${path} is no file, folder or link`)
  }
  await to.finish()
}

async function entriesOf(file: FileHandle): Promise<readonly Entry[]> {
  const { size } = await file.stat()
  const tail = await bytesAt(file, Math.max(0, size - endBytes - commentBytesMax), size)
  const at = lastEnd(tail)
  if (at < 0) throw broken('it has no list of its files')
  const count = tail.readUInt16LE(at + 10)
  const listBytes = tail.readUInt32LE(at + 12)
  const listAt = tail.readUInt32LE(at + 16)
  if (count === 0xffff || listAt === 0xffffffff) {
    throw new MusterError('invalid_argument', 'it is of the 64 bit form of zip: pack it as tar.gz')
  }
  if (listBytes > listBytesMax) throw broken('the list of its files is too long')
  const list = await bytesAt(file, listAt, listAt + listBytes)
  const entries: Entry[] = []
  for (let from = 0; entries.length < count;) {
    if (from + 46 > list.length || list.readUInt32LE(from) !== signs.entry) {
      throw broken('the list of its files is cut off')
    }
    const nameBytes = list.readUInt16LE(from + 28)
    const next = from + 46 + nameBytes + list.readUInt16LE(from + 30) + list.readUInt16LE(from + 32)
    entries.push({
      path: list.toString('utf8', from + 46, from + 46 + nameBytes),
      isSecret: (list.readUInt16LE(from + 8) & 1) !== 0,
      method: list.readUInt16LE(from + 10),
      sum: list.readUInt32LE(from + 16),
      packed: list.readUInt32LE(from + 20),
      size: list.readUInt32LE(from + 24),
      // Where it was made on a system that has modes.
      mode: list[from + 5] === 3 ? list.readUInt32LE(from + 38) >>> 16 : 0,
      at: list.readUInt32LE(from + 42),
    })
    from = next
  }
  return entries
}

function lastEnd(tail: Buffer): number {
  for (let at = tail.length - endBytes; at >= 0; at -= 1) {
    if (tail.readUInt32LE(at) === signs.end) return at
  }
  return -1
}

/** As long as the list says, and no longer. */
async function* contentOf(file: FileHandle, entry: Entry): AsyncGenerator<Uint8Array> {
  const { at, method, packed, size, sum, path } = entry
  const head = await bytesAt(file, at, at + 30)
  if (head.readUInt32LE(0) !== signs.local) throw broken('a file is not where the list says')
  const start = at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28)
  if (method !== 0 && method !== 8) {
    throw new MusterError('invalid_argument', `${path} is packed by a method that is not known`)
  }
  let length = 0
  let found = 0
  for await (const chunk of unpacked(file, { start, packed, isDeflated: method === 8 })) {
    length += chunk.length
    if (length > size) throw broken('a file is longer than the list says')
    found = crc32(chunk, found)
    yield chunk
  }
  if (length !== size || found !== sum) throw broken('a file is not what the list says')
}

function unpacked(
  file: FileHandle,
  of: { readonly start: number; readonly packed: number; readonly isDeflated: boolean },
): AsyncIterable<Buffer> {
  const { start, packed, isDeflated } = of
  if (packed === 0) return none()
  const stored = file.createReadStream({ start, end: start + packed - 1, autoClose: false })
  // An error of one ends the other, and whoever reads is told.
  return isDeflated ? pipeline(stored, createInflateRaw(), () => {}) : stored
}

async function* none(): AsyncGenerator<Buffer> {}

async function bytesAt(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(to - from)
  const { bytesRead } = await file.read(buffer, 0, buffer.length, from)
  if (bytesRead < buffer.length) throw broken('it is cut off')
  return buffer
}

function broken(text: string): MusterError {
  return new MusterError('corrupt', `it is no archive of zip: ${text}`)
}
