import t from 'tap'
import {
  readArchive,
  writeArchive,
  type ArchivePart,
} from '../../../src/domains/operator/archive.ts'

const header = {
  index: 7,
  term: 2,
  createdMs: 1_700_000_000_000,
  commandVersion: 3,
  clusterKeys: ['abc'],
}
const blocks = [Buffer.alloc(100_000, 'a'), Buffer.from('second'), Buffer.alloc(0)]
const trailer = { rows: 12, digest: 'd'.repeat(64) }

async function* all<T>(values: Iterable<T>): AsyncGenerator<T> {
  yield* values
}

async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of source) values.push(value)
  return values
}

async function written(): Promise<Buffer> {
  return Buffer.concat(await collect(writeArchive(header, all(blocks), () => trailer)))
}

function read(bytes: Uint8Array, piece = bytes.length): Promise<ArchivePart[]> {
  const pieces: Uint8Array[] = []
  for (let start = 0; start < bytes.length; start += piece) {
    pieces.push(bytes.subarray(start, start + piece))
  }
  return collect(readArchive(all(pieces)))
}

void t.test('what is written is read, in pieces of any size', async (t) => {
  const archive = await written()
  t.ok(archive.length < 2_000, 'blocks are compressed')
  for (const piece of [1, 7, 1_000, archive.length]) {
    const parts = await read(archive, piece)
    t.same(parts[0], { type: 'header', header: { version: 1, ...header } })
    t.same(
      parts.slice(1, -1).map((part) => part.type === 'block' && Buffer.from(part.block)),
      blocks,
    )
    t.same(parts.at(-1), { type: 'trailer', trailer })
  }
})

void t.test('every cut is noticed', async (t) => {
  const archive = await written()
  for (let length = 0; length < archive.length; length++) {
    await read(archive.subarray(0, length)).then(
      () => t.fail(`cut at ${length}`),
      (error: unknown) => t.match(error, { code: 'invalid_argument' }),
    )
  }
  await t.rejects(read(Buffer.concat([archive, Buffer.of(0)])), {
    message: /something follows its end/,
  })
})

void t.test('every flipped byte is noticed', async (t) => {
  const archive = await written()
  for (let position = 0; position < archive.length; position++) {
    const flipped = Buffer.from(archive)
    flipped[position] = (flipped[position] ?? 0) ^ 0x10
    const parts = await read(flipped).catch((error: unknown) => {
      t.match(error, { code: 'invalid_argument' }, `byte ${position}`)
      return null
    })
    // In the trailer, rows and digest are compared with what arrived when the restore is committed.
    if (parts !== null) t.notSame(parts.at(-1), { type: 'trailer', trailer }, `byte ${position}`)
  }
})

void t.test('a newer archive and what is none say so', async (t) => {
  const newer = 'muster-snapshot {"version":2,"more":true}\n'
  await t.rejects(read(Buffer.from(newer)), {
    code: 'invalid_argument',
    message: /of version 2, this program reads up to 1/,
  })
  await t.rejects(read(Buffer.from('PK\x03\x04 a zip file, by its looks')), {
    code: 'invalid_argument',
    message: /not a snapshot archive/,
  })
  await t.rejects(read(Buffer.alloc(0)), { code: 'invalid_argument' })
  await t.rejects(read(Buffer.from(`muster-snapshot ${'x'.repeat(70_000)}`)), {
    message: /header is too long/,
  })
})
