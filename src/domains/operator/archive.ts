/**
 * The file of a snapshot: made and read as a stream, with one block in memory.
 *
 *   header line  `muster-snapshot {"version":1,"index":…,"term":…,"createdMs":…,"commandVersion":…,"clusterKeys":[…]}\n`
 *   blocks       length (4 bytes) | crc32 (4) | zstd of one block of rows, length and crc of the compressed bytes
 *   trailer      length 0 (4) | length (4) | `{"rows":…,"digest":"…","sha256":"…"}`, sha256 over all bytes before it
 *
 * Rows in it are as the state holds them: variables sealed, data keys wrapped. Numbers are big-endian.
 */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, zstdCompress, zstdDecompress } from 'node:zlib'
import { MusterError } from '../../lib/errors.ts'
import { ByteReader } from './byte-reader.ts'
import { blockBytesMax } from './model.ts'

export const archiveType = 'application/x-muster-snapshot'
export const archiveVersion = 1

const magic = 'muster-snapshot '
const headerBytesMax = 64 * 1024
const trailerBytesMax = 4 * 1024

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

export type ArchiveHeader = {
  readonly version: number
  /** Of the state that was archived. */
  readonly index: number
  readonly term: number
  readonly createdMs: number
  /** That the cluster ran at which saved it. */
  readonly commandVersion: number
  /** Ids of the cluster keys that open what is in it. */
  readonly clusterKeys: readonly string[]
}

export type ArchiveTrailer = {
  readonly rows: number
  /** What the state's restore compares. */
  readonly digest: string
}

/** `end` is asked once all blocks are read. */
export async function* writeArchive(
  header: Omit<ArchiveHeader, 'version'>,
  blocks: AsyncIterable<Uint8Array>,
  end: () => ArchiveTrailer,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256')
  const hashed = (bytes: Buffer) => {
    hash.update(bytes)
    return bytes
  }
  yield hashed(Buffer.from(`${magic}${JSON.stringify({ version: archiveVersion, ...header })}\n`))
  for await (const block of blocks) {
    const body = await compress(block)
    yield hashed(Buffer.concat([words(body.length, crc32(body)), body]))
  }
  const { rows, digest } = end()
  yield hashed(words(0))
  const trailer = Buffer.from(JSON.stringify({ rows, digest, sha256: hash.digest('hex') }))
  yield Buffer.concat([words(trailer.length), trailer])
}

export type ArchivePart =
  | { readonly type: 'header'; readonly header: ArchiveHeader }
  | { readonly type: 'block'; readonly block: Uint8Array }
  /** The last part: everything before it is as it was written. */
  | { readonly type: 'trailer'; readonly trailer: ArchiveTrailer }

/** Throws `invalid_argument` for anything that `writeArchive` of this version or an older one did not write. */
export async function* readArchive(source: AsyncIterable<Uint8Array>): AsyncGenerator<ArchivePart> {
  const input = new Input(source)
  try {
    yield* partsOf(input)
  } finally {
    await input.close()
  }
}

async function* partsOf(input: Input): AsyncGenerator<ArchivePart> {
  const headerLine = await input.line(headerBytesMax)
  yield { type: 'header', header: parseHeader(headerLine) }
  for (;;) {
    const length = (await input.take(4, true)).readUInt32BE()
    if (length === 0) break
    if (length > blockBytesMax) throw damaged('a block is too long')
    const expected = (await input.take(4, true)).readUInt32BE()
    const body = await input.take(length, true)
    if (crc32(body) !== expected) throw damaged('a block does not have its checksum')
    let block: Uint8Array
    try {
      block = await decompress(body, { maxOutputLength: blockBytesMax })
    } catch (error) {
      throw damaged('a block cannot be decompressed', error)
    }
    yield { type: 'block', block }
  }
  const sha256 = input.sha256()
  const trailerLength = (await input.take(4, false)).readUInt32BE()
  if (trailerLength > trailerBytesMax) throw damaged('its end is too long')
  const trailer = parseTrailer(await input.take(trailerLength, false), sha256)
  await input.end()
  yield { type: 'trailer', trailer }
}

/** Reads from the file, and hashes what comes before its last part. */
class Input {
  readonly #bytes: ByteReader
  readonly #hash = createHash('sha256')

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#bytes = new ByteReader(source, () => damaged('it is cut off'))
  }

  async take(length: number, hashed: boolean): Promise<Buffer> {
    const bytes = await this.#bytes.take(length)
    if (hashed) this.#hash.update(bytes)
    return bytes
  }

  /** Up to and with the next line break, which is left off. Refuses early what is no archive at all. */
  async line(lengthMax: number): Promise<string> {
    const start = await this.take(magic.length, true)
    if (start.toString('latin1') !== magic) {
      throw new MusterError('invalid_argument', 'this is not a snapshot archive of this program')
    }
    const bytes: number[] = []
    for (;;) {
      const byte = (await this.take(1, true))[0] ?? 0
      if (byte === 0x0a) return Buffer.from(bytes).toString('utf8')
      bytes.push(byte)
      if (bytes.length > lengthMax) throw damaged('its header is too long')
    }
  }

  sha256(): string {
    return this.#hash.digest('hex')
  }

  close(): Promise<void> {
    return this.#bytes.close()
  }

  async end(): Promise<void> {
    if ((await this.#bytes.upTo(1)).length > 0) throw damaged('something follows its end')
  }
}

function parseHeader(line: string): ArchiveHeader {
  const value = parseJson(line)
  const { version, index, term, createdMs, commandVersion = 1, clusterKeys } = value
  if (typeof version === 'number' && version > archiveVersion) {
    throw new MusterError(
      'invalid_argument',
      `the snapshot archive is of version ${version}, this program reads up to ${archiveVersion}: restore it with a newer one`,
    )
  }
  const isWhole =
    version === archiveVersion &&
    typeof index === 'number' &&
    typeof term === 'number' &&
    typeof createdMs === 'number' &&
    typeof commandVersion === 'number' &&
    Array.isArray(clusterKeys) &&
    clusterKeys.every((id) => typeof id === 'string')
  if (!isWhole) throw damaged('its header is not whole')
  return { version, index, term, createdMs, commandVersion, clusterKeys }
}

function parseTrailer(bytes: Buffer, sha256: string): ArchiveTrailer {
  const { rows, digest, sha256: expected } = parseJson(bytes.toString('utf8'))
  if (expected !== sha256) throw damaged('it does not have its checksum')
  if (typeof rows !== 'number' || typeof digest !== 'string') throw damaged('its end is not whole')
  return { rows, digest }
}

type Members = Partial<
  Record<
    | 'version'
    | 'index'
    | 'term'
    | 'createdMs'
    | 'commandVersion'
    | 'clusterKeys'
    | 'rows'
    | 'digest'
    | 'sha256',
    unknown
  >
>

function parseJson(text: string): Members {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // Falls through: what is no JSON is as damaged as what is no object.
  }
  throw damaged('a part of it is not JSON')
}

function words(...numbers: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * numbers.length)
  for (const [position, value] of numbers.entries()) bytes.writeUInt32BE(value, 4 * position)
  return bytes
}

function damaged(reason: string, cause?: unknown): MusterError {
  return new MusterError('invalid_argument', `the snapshot archive is damaged: ${reason}`, {
    cause,
  })
}
