/** Table files that LevelDB wrote, whole and damaged. */
import { randomBytes } from 'node:crypto'
import { copyFile, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { tableNames } from '../../src/fsm/level-folder.ts'
import { Store, storeLimits } from '../../src/fsm/store.ts'
import { damageOfTable } from '../../src/fsm/table-file.ts'
import { temporaryFolder } from './toy.ts'

const footerBytes = 48
const onward = () => Promise.resolve(true)

/** The largest table file of a store with so many rows. */
async function tableFile(t: Test, rows: number, value: () => Buffer): Promise<string> {
  const folder = await temporaryFolder(t)
  const store = await Store.open(folder, storeLimits)
  for (let number = 0; number < rows; number += 1) {
    await store.write(
      new Map([[`\x00\x00\x00\x01row ${String(number).padStart(6, '0')}`, value()]]),
    )
  }
  await store.settle()
  await store.close()
  const [name] = await tableNames(folder)
  return join(folder, name ?? '')
}

/** The damage of a copy in which one byte is another. */
async function flipped(path: string, whole: Buffer, at: number): Promise<string | null> {
  const bytes = Buffer.from(whole)
  bytes[at] = (bytes[at] ?? 0) ^ 0x10
  await writeFile(path, bytes)
  return damageOfTable(path, onward)
}

for (const [kind, rows, value] of [
  ['blocks that are stored as they are', 300, () => randomBytes(500)],
  ['blocks that are compressed', 3_000, () => Buffer.alloc(500, 'value')],
  ['a row larger than what is read at a time', 3, () => randomBytes(600_000)],
  ['one row', 1, () => Buffer.from('value')],
] as const) {
  t.test(
    `${kind}: whole is good, and a byte that is another is found wherever it is`,
    async (t) => {
      const path = await tableFile(t, rows, value)
      const whole = await readFile(path)
      const read: number[] = []
      t.equal(
        await damageOfTable(path, async (bytes) => {
          read.push(bytes)
          return true
        }),
        null,
      )
      t.equal(
        read.reduce((sum, bytes) => sum + bytes, footerBytes),
        whole.byteLength,
        'all was read',
      )
      const size = whole.byteLength
      const step = Math.max(1, Math.floor(size / 40))
      // The end is metaindex, index and footer.
      const spots = new Set(Array.from({ length: 100 }, (_, back) => size - 1 - back))
      for (let back = 100; back < 400; back += 7) spots.add(size - 1 - back)
      for (let at = 0; at < size; at += step) spots.add(at)
      const missed: number[] = []
      for (const at of spots) {
        if (at >= 0 && (await flipped(path, whole, at)) === null) missed.push(at)
      }
      t.same(missed, [])
    },
  )
}

t.test('the index of compressible keys is compressed, and read all the same', async (t) => {
  const path = await tableFile(t, 20_000, () => randomBytes(200))
  const whole = await readFile(path)
  t.equal(whole[whole.byteLength - footerBytes - 5], 1, 'its kind is Snappy')
  t.equal(await damageOfTable(path, onward), null)
})

t.test('a file that is cut is found, one that is gone is no damage', async (t) => {
  const path = await tableFile(t, 300, () => randomBytes(500))
  const { byteLength } = await readFile(path)
  for (const bytes of [byteLength - 1, byteLength >> 1, footerBytes, 10, 0]) {
    const cut = `${path}.cut`
    await copyFile(path, cut)
    await truncate(cut, bytes)
    t.type(await damageOfTable(cut, onward), 'string', `${bytes} bytes`)
  }
  await rm(path)
  t.equal(await damageOfTable(path, onward), null)
})

t.test('one that is removed while it is checked is read to its end', async (t) => {
  const path = await tableFile(t, 300, () => randomBytes(500))
  let pieces = 0
  const damage = await damageOfTable(path, async () => {
    if (pieces === 0) await rm(path)
    pieces += 1
    return true
  })
  t.equal(damage, null)
  t.ok(pieces > 2)
})

t.test('it ends early when it is told to', async (t) => {
  const path = await tableFile(t, 300, () => randomBytes(500))
  await flipped(path, await readFile(path), 100)
  let pieces = 0
  const stopped = async () => ++pieces < 1
  t.equal(await damageOfTable(path, stopped), null)
  t.equal(pieces, 1)
})
