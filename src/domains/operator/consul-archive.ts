/**
 * A snapshot in the container of Consul's: a gzip'd tar of `meta.json`, `state.bin` and `SHA256SUMS`, which Consul's command line
 * verifies after it saved one and before it inspects one. `state.bin` has Consul's frame too (a header, then items of a type byte
 * and a MessagePack value); the items are pieces of this program's own archive, of a type that Consul does not know.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { MusterError } from '../../lib/errors.ts'
import { ByteReader } from './byte-reader.ts'
import { readTarHeader, tarEnd, tarHeader, tarPadding } from './tar.ts'

export const consulArchiveType = 'application/x-gzip'

/** Of Consul's items none is so high, and it ignores none of them: its inspection counts ours as unknown. */
const itemType = 120
/** MessagePack's text of up to 2^32 bytes. */
const raw32 = 0xdb
const pieceBytesMax = 256 * 1024
const itemHeadBytes = 6
/** `{"LastIndex": uint64}` */
const stateHeadBytes = 20
const metaBytesMax = 64 * 1024
const sumsBytesMax = 4 * 1024
const gzipMagic = [0x1f, 0x8b] as const

export type ConsulArchiveMeta = {
  readonly index: number
  readonly term: number
  readonly createdMs: number
}

/** Of an archive of this program in a file. */
export async function* writeConsulArchive(
  meta: ConsulArchiveMeta,
  file: { readonly path: string; readonly bytes: number },
): AsyncGenerator<Uint8Array> {
  // Its content is compressed already.
  const gzip = createGzip({ level: 0 })
  const written = pipeline(Readable.from(tarOf(meta, file), { objectMode: false }), gzip)
  // What fails here fails the reading below; this only keeps the promise from standing alone.
  written.catch(() => {})
  try {
    for await (const bytes of gzip) yield bytes as Uint8Array
    await written
  } finally {
    gzip.destroy()
  }
}

async function* tarOf(
  { index, term, createdMs }: ConsulArchiveMeta,
  file: { readonly path: string; readonly bytes: number },
): AsyncGenerator<Uint8Array> {
  const size = stateHeadBytes + file.bytes + itemHeadBytes * Math.ceil(file.bytes / pieceBytesMax)
  const meta = Buffer.from(
    `${JSON.stringify({
      Version: 1,
      ID: `${term}-${index}-${createdMs}`,
      Index: index,
      Term: term,
      Peers: null,
      Configuration: { Servers: [] },
      ConfigurationIndex: 0,
      Size: size,
    })}\n`,
  )
  const head = (name: string, bytes: number) => tarHeader({ name, bytes, modifiedMs: createdMs })
  yield head('meta.json', meta.length)
  yield meta
  yield tarPadding(meta.length)
  yield head('state.bin', size)
  const hash = createHash('sha256')
  for await (const bytes of stateOf(index, file.path)) {
    hash.update(bytes)
    yield bytes
  }
  yield tarPadding(size)
  const sums = Buffer.from(
    `${createHash('sha256').update(meta).digest('hex')}  meta.json\n${hash.digest('hex')}  state.bin\n`,
  )
  yield head('SHA256SUMS', sums.length)
  yield sums
  yield tarPadding(sums.length)
  yield tarEnd
}

async function* stateOf(index: number, path: string): AsyncGenerator<Uint8Array> {
  const head = Buffer.alloc(stateHeadBytes)
  head.write('\x81\xa9LastIndex\xcf', 'latin1')
  head.writeBigUInt64BE(BigInt(index), stateHeadBytes - 8)
  yield head
  const pieces = new ByteReader(createReadStream(path), cutOff)
  try {
    for (;;) {
      const piece = await pieces.upTo(pieceBytesMax)
      if (piece.length === 0) return
      const itemHead = Buffer.alloc(itemHeadBytes)
      itemHead.writeUInt8(itemType, 0)
      itemHead.writeUInt8(raw32, 1)
      itemHead.writeUInt32BE(piece.length, 2)
      yield itemHead
      yield piece
    }
  } finally {
    await pieces.close()
  }
}

/** This program's archive as it is, whether it comes by itself or in Consul's container. Throws `invalid_argument`. */
export async function* unwrapArchive(
  source: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const input = new ByteReader(source, cutOff)
  const start = await input.upTo(gzipMagic.length)
  if (!gzipMagic.every((byte, at) => start[at] === byte)) {
    yield start
    yield* input.rest()
    return
  }
  const gunzip = createGunzip()
  const compressed = async function* () {
    yield start
    yield* input.rest()
  }
  const read = pipeline(Readable.from(compressed(), { objectMode: false }), gunzip)
  read.catch(() => {})
  try {
    yield* unwrapTar(new ByteReader(gunzip as AsyncIterable<Uint8Array>, cutOff))
    await read
  } catch (error) {
    if (error instanceof MusterError) throw error
    throw damaged('it is no gzip, or not whole', error)
  } finally {
    gunzip.destroy()
  }
}

async function* unwrapTar(tar: ByteReader): AsyncGenerator<Uint8Array> {
  const metaBytes = await entry(tar, 'meta.json', metaBytesMax)
  const meta = await tar.take(metaBytes)
  await tar.take(tarPadding(metaBytes).length)

  const stateBytes = await entry(tar, 'state.bin', Number.MAX_SAFE_INTEGER)
  const hash = createHash('sha256')
  yield* unwrapState(tar, stateBytes, (bytes) => hash.update(bytes))
  await tar.take(tarPadding(stateBytes).length)

  const sumsBytes = await entry(tar, 'SHA256SUMS', sumsBytesMax)
  const sums = (await tar.take(sumsBytes)).toString('utf8').split('\n')
  await tar.take(tarPadding(sumsBytes).length)
  const expected = [
    `${createHash('sha256').update(meta).digest('hex')}  meta.json`,
    `${hash.digest('hex')}  state.bin`,
  ]
  if (!expected.every((line) => sums.includes(line)))
    throw damaged('it does not have its checksums')
  for await (const bytes of tar.rest()) {
    if (bytes.some((byte) => byte !== 0)) throw damaged('something follows its end')
  }
}

async function* unwrapState(
  tar: ByteReader,
  stateBytes: number,
  seen: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  const take = async (length: number): Promise<Buffer> => {
    const bytes = await tar.take(length)
    seen(bytes)
    return bytes
  }
  if (stateBytes < stateHeadBytes) throw damaged('its state is cut off')
  await take(stateHeadBytes)
  let left = stateBytes - stateHeadBytes
  while (left > 0) {
    const head = await take(itemHeadBytes)
    const length = head.readUInt32BE(2)
    if (head[0] !== itemType || head[1] !== raw32 || length > pieceBytesMax) {
      throw new MusterError(
        'invalid_argument',
        "this snapshot was not saved from this program: Consul's own state cannot be restored here",
      )
    }
    left -= itemHeadBytes + length
    if (left < 0) throw damaged('its state is cut off')
    yield await take(length)
  }
}

/** Bytes of the next file, which must have that name. */
async function entry(tar: ByteReader, name: string, bytesMax: number): Promise<number> {
  const header = readTarHeader(await tar.take(512))
  if (header === null) throw damaged('it is no tar')
  if (header.name !== name) {
    throw damaged(`it has ${JSON.stringify(header.name)} where ${name} should be`)
  }
  if (header.bytes > bytesMax) throw damaged(`${name} is too long`)
  return header.bytes
}

function cutOff(): MusterError {
  return damaged('it is cut off')
}

function damaged(reason: string, cause?: unknown): MusterError {
  return new MusterError('invalid_argument', `the snapshot archive is damaged: ${reason}`, {
    cause,
  })
}
