/** The store: what is on disk is a prefix of what was written, and LevelDB never switches files by itself. */
import { mkdir, readFile, readdir, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { Store, storeLimits } from '../../src/fsm/store.ts'
import { cutTornLog } from '../../src/fsm/wal.ts'
import { crashCopy, temporaryFolder } from './toy.ts'

const small = {
  flushBytes: 64 * 1024,
  unflushedBytesMax: 256 * 1024,
  writeBufferBytes: 4 * 1024 * 1024,
  blockCacheBytes: 2 ** 20,
}

async function openStore(
  test: Parameters<typeof temporaryFolder>[0],
  folder: string,
  limits = storeLimits,
) {
  const store = await Store.open(folder, limits)
  test.teardown(() => store.close())
  return store
}

function key(number: number): string {
  return `\x00\x00\x00\x01row ${String(number).padStart(6, '0')}`
}

/** How many of the rows written in order are there; -1 when one is missing before the last. */
function prefixLength(store: Store, rows: number): number {
  const there = Array.from({ length: rows }, (_, number) => store.get(key(number)) !== undefined)
  const length = there.lastIndexOf(true) + 1
  return there.slice(0, length).every(Boolean) ? length : -1
}

t.test('flushing empties LevelDB’s memory into a table file', async (t) => {
  const folder = await temporaryFolder(t)
  const store = await openStore(t, folder)
  await store.write(new Map([[key(0), Buffer.from('value')]]))
  const flushes = async () =>
    ((await readFile(join(folder, 'LOG'), 'utf8')).match(/Level-0 table #\d+: \d+ bytes OK/g) ?? [])
      .length
  t.equal(await flushes(), 0)
  await store.settle()
  t.equal(await flushes(), 1)
  const logs = (await readdir(folder)).filter((name) => name.endsWith('.log'))
  t.equal(logs.length, 1)
  t.equal(
    (await readFile(join(folder, logs[0] ?? ''))).byteLength,
    0,
    'the new write-ahead file is empty',
  )
})

t.test(
  'memory is flushed after so many bytes, long before LevelDB would do it by itself',
  async (t) => {
    const folder = await temporaryFolder(t)
    const store = await openStore(t, folder, small)
    const written: Promise<void>[] = []
    for (let number = 0; number < 600; number += 1) {
      written.push(store.write(new Map([[key(number), Buffer.alloc(2000, number)]])))
    }
    await Promise.all(written)
    await store.settle()
    const log = await readFile(join(folder, 'LOG'), 'utf8')
    const sizes = [...log.matchAll(/Level-0 table #\d+: (\d+) bytes OK/g)].map(([, size]) =>
      Number(size),
    )
    t.ok(sizes.length >= 3, `${sizes.length} flushes`)
    t.ok(
      sizes.every((size) => size < small.unflushedBytesMax + 2 * small.flushBytes),
      `flushes of ${sizes.join()} bytes`,
    )
    t.equal(prefixLength(store, 600), 600)
  },
)

t.test('wherever the unsynced end is cut or damaged, a prefix is left', async (t) => {
  const folder = await temporaryFolder(t)
  const store = await openStore(t, folder)
  const rows = 300
  for (let number = 0; number < rows; number += 1) {
    await store.write(new Map([[key(number), Buffer.alloc(900, number)]]))
  }
  const logName = (await readdir(folder)).find((name) => name.endsWith('.log')) ?? ''
  const bytes = await readFile(join(folder, logName))
  const cases: [string, (log: Buffer) => Buffer][] = [
    ['untouched', (log) => log],
    ['cut in a record', (log) => log.subarray(0, 100_000)],
    ['cut in a header', (log) => log.subarray(0, 32_768 + 3)],
    ['nothing left', (log) => log.subarray(0, 0)],
    ['one byte flipped', (log) => flip(log, 150_000)],
    [
      'a block of zeros, as of blocks that came out of order',
      (log) => log.fill(0, 65_536, 65_536 + 4096),
    ],
    ['a whole block of zeros', (log) => log.fill(0, 131_072, 131_072 + 32_768)],
    ['a tail of zeros', (log) => Buffer.concat([log, Buffer.alloc(50_000)])],
    ['a tail of garbage', (log) => Buffer.concat([log, Buffer.alloc(50_000, 0x5a)])],
  ]
  for (const [name, damage] of cases) {
    const copy = await crashCopy(t, folder)
    await writeFile(join(copy, logName), damage(Buffer.from(bytes)))
    const revived = await Store.open(copy, storeLimits)
    const length = prefixLength(revived, rows)
    t.ok(length >= 0, `${name}: ${length} rows of ${rows}`)
    if (name === 'untouched' || name.startsWith('a tail')) t.equal(length, rows, name)
    else t.ok(length < rows, name)
    t.equal(
      revived.logCut !== null,
      length < rows && name !== 'nothing left' ? true : name.startsWith('a tail'),
      name,
    )
    await revived.close()
    const again = await Store.open(copy, storeLimits)
    t.equal(prefixLength(again, rows), length, 'and stays')
    t.equal(again.logCut, null)
    await again.close()
  }
})

t.test('LevelDB alone would leave a hole: why the cut is there', async (t) => {
  const folder = await temporaryFolder(t)
  const store = await openStore(t, folder)
  for (let number = 0; number < 300; number += 1) {
    await store.write(new Map([[key(number), Buffer.alloc(900, number)]]))
  }
  const copy = await crashCopy(t, folder)
  const logName = (await readdir(copy)).find((name) => name.endsWith('.log')) ?? ''
  const log = await readFile(join(copy, logName))
  await writeFile(join(copy, logName), log.fill(0, 65_536, 65_536 + 4096))
  const { ClassicLevel } = await import('classic-level')
  const plain = new ClassicLevel(copy)
  await plain.open()
  t.equal(plain.getSync(key(75)), undefined)
  t.ok(plain.getSync(key(299)) !== undefined)
  await plain.close()
})

t.test(
  'damage in an older write-ahead file, which was synced, is an error that names it',
  async (t) => {
    const folder = join(await temporaryFolder(t), 'state')
    const store = await openStore(t, folder)
    await store.write(new Map([[key(0), Buffer.alloc(900)]]))
    const copy = await crashCopy(t, folder)
    const logName = (await readdir(copy)).find((name) => name.endsWith('.log')) ?? ''
    const whole = await readFile(join(copy, logName))
    await writeFile(join(copy, '999999.log'), whole)
    t.equal(await cutTornLog(copy), null)
    await truncate(join(copy, logName), whole.byteLength - 1)
    await t.rejects(cutTornLog(copy), { code: 'corrupt', message: new RegExp(logName) })
  },
)

t.test('an empty folder has nothing to cut', async (t) => {
  const folder = join(await temporaryFolder(t), 'new')
  await mkdir(folder)
  t.equal(await cutTornLog(folder), null)
})

t.test('a closed store fails as retryable', async (t) => {
  const store = await openStore(t, await temporaryFolder(t))
  await store.close()
  t.throws(() => store.get(key(0)), { code: 'unavailable' })
})

function flip(bytes: Buffer, position: number): Buffer {
  bytes[position] = (bytes[position] ?? 0) ^ 1
  return bytes
}
