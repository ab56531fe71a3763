/** Archives of tar, as GNU, BSD and POSIX write them. */
import { MusterError } from '../../../lib/errors.ts'
import type { Destination } from './destination.ts'

const blockBytes = 512
/** Of a long name, and of what POSIX says before an entry. */
const headBytesMax = 64 * 1024
const pieceBytes = 64 * 1024

/** Rejects with `corrupt` for what is none, and as the destination. */
export async function unpackTar(chunks: AsyncIterable<Uint8Array>, to: Destination): Promise<void> {
  const reader = new Bytes(chunks)
  /** Said before an entry, for it alone. */
  let next: Extended = {}
  let isFirst = true
  for (;;) {
    const block = await reader.take(blockBytes, isFirst)
    if (block === null || block.every((byte) => byte === 0)) break
    isFirst = false
    const head = headOf(block)
    const size = next.size ?? head.size
    switch (head.type) {
      case 'x':
        next = { ...next, ...extendedOf(await reader.text(head.size)) }
        continue
      case 'g':
        await reader.text(head.size)
        continue
      case 'L':
        next = { ...next, path: untilNul(await reader.text(head.size)) }
        continue
      case 'K':
        next = { ...next, target: untilNul(await reader.text(head.size)) }
        continue
    }
    const path = next.path ?? head.path
    const target = next.target ?? head.target
    next = {}
    switch (head.type) {
      case '0':
      case '\0':
      case '7':
        if (path.endsWith('/')) await to.folder(path)
        else await to.file(path, head.mode, reader.pieces(size))
        await reader.skipPadding(size)
        break
      case '1':
        await to.copy(path, target)
        break
      case '2':
        to.link(path, target)
        break
      case '5':
        await to.folder(path)
        break
      default:
        throw new MusterError('invalid_argument', `${path} is no file, folder or link`)
    }
  }
  if (isFirst) throw broken('it is empty')
  await to.finish()
}

type Extended = { readonly path?: string; readonly target?: string; readonly size?: number }

type Head = {
  readonly path: string
  readonly target: string
  readonly mode: number
  readonly size: number
  readonly type: string
}

function headOf(block: Buffer): Head {
  const text = (from: number, to: number): string => untilNul(block.toString('utf8', from, to))
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0)
  if (sum !== numberOf(block, 148, 156)) throw broken('the sum of an entry is wrong')
  const prefix =
    text(257, 263).startsWith('ustar') && text(257, 265) !== 'ustar  ' ? text(345, 500) : ''
  const name = text(0, 100)
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    target: text(157, 257),
    mode: numberOf(block, 100, 108),
    size: numberOf(block, 124, 136),
    type: String.fromCharCode(block[156] ?? 0),
  }
}

/** In octal digits; GNU writes large ones as bytes, after a byte 0x80. */
function numberOf(block: Buffer, from: number, to: number): number {
  const first = block[from] ?? 0
  if (first === 0x80) return block.readUIntBE(to - 6, 6)
  const digits = untilNul(block.toString('latin1', from, to)).trim()
  if (!/^[0-7]*$/.test(digits)) throw broken('a number of an entry is none')
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

/** Records of `LENGTH KEY=VALUE\n`, whose length counts bytes. */
function extendedOf(text: string): Extended {
  let found: Extended = {}
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    const [, digits = '0'] = /^(\d{1,6}) /.exec(bytes.toString('latin1', 0, 8)) ?? []
    const length = Number(digits)
    if (length < digits.length + 3 || length > bytes.length) throw broken('a record is cut off')
    const record = bytes.toString('utf8', digits.length + 1, length - 1)
    const at = record.indexOf('=')
    const value = record.slice(at + 1)
    switch (record.slice(0, at)) {
      case 'path':
        found = { ...found, path: value }
        break
      case 'linkpath':
        found = { ...found, target: value }
        break
      case 'size':
        if (!/^\d{1,15}$/.test(value)) throw broken('a size is none')
        found = { ...found, size: Number(value) }
        break
    }
    bytes = bytes.subarray(length)
  }
  return found
}

function untilNul(text: string): string {
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}

function broken(text: string): MusterError {
  return new MusterError('corrupt', `it is no archive of tar: ${text}`)
}

/** Bytes as they are asked for. */
class Bytes {
  readonly #chunks: AsyncIterator<Uint8Array>
  #held: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Null: nothing is left, which is fine but at the `isFirst` piece. */
  async take(count: number, isFirst = false): Promise<Buffer | null> {
    while (this.#held.length < count) {
      const { value, done } = await this.#chunks.next()
      if (done === true) {
        if (this.#held.length === 0 && !isFirst) return null
        throw broken('it is cut off')
      }
      this.#held = Buffer.concat([this.#held, value])
    }
    const taken = this.#held.subarray(0, count)
    this.#held = this.#held.subarray(count)
    return taken
  }

  async text(bytes: number): Promise<string> {
    if (bytes > headBytesMax) throw broken('a name is too long')
    const text = (await this.take(bytes))?.toString('utf8') ?? ''
    await this.skipPadding(bytes)
    return text
  }

  async *pieces(bytes: number): AsyncGenerator<Uint8Array> {
    for (let left = bytes; left > 0;) {
      const piece = await this.take(Math.min(left, pieceBytes))
      if (piece === null) throw broken('a file is cut off')
      left -= piece.length
      yield piece
    }
  }

  async skipPadding(bytes: number): Promise<void> {
    const rest = bytes % blockBytes
    if (rest > 0) await this.take(blockBytes - rest)
  }
}
