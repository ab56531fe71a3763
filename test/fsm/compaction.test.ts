/** Rows that were deleted leave the table files soon, so that a scan does not step over them. */
import { randomBytes } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { compactionPauseMs } from '../../src/fsm/compaction.ts'
import { emptiedRowsMin } from '../../src/fsm/emptied-ranges.ts'
import { Store, storeLimits } from '../../src/fsm/store.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { namesOf, temporaryFolder, ToyLog, toyMachine } from './toy.ts'

const valueBytes = 100

function key(number: number): string {
  return `\x00\x00\x00\x01row ${String(number).padStart(6, '0')}`
}

/** Of table files. */
async function tableBytes(folder: string): Promise<number> {
  let bytes = 0
  for (const name of await readdir(folder, { recursive: true })) {
    // One that is removed between the two calls has no bytes.
    if (name.endsWith('.ldb')) {
      bytes += await stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      )
    }
  }
  return bytes
}

for (const [where, settles] of [
  ['in memory', []],
  ['in one table file with what deletes them', ['after']],
  ['in another table file than what deletes them', ['between']],
  ['in table files below one another', ['before', 'between', 'after']],
] as const) {
  t.test(`a compaction removes deleted rows that are ${where}`, async (t) => {
    const folder = await temporaryFolder(t)
    const store = await Store.open(folder, storeLimits)
    t.teardown(() => store.close())
    const rows = 5_000
    const settle = async (when: string) => {
      if (settles.some((one) => one === when)) await store.settle()
    }
    const neighbours = [key(-1), key(rows), key(rows + 1)]
    await store.write(new Map(neighbours.map((name) => [name, Buffer.from('stays')])))
    await settle('before')
    const all = Array.from({ length: rows }, (_, number) => key(number))
    await store.write(new Map(all.map((name) => [name, randomBytes(valueBytes)])))
    await settle('between')
    await store.write(new Map(all.map((name) => [name, null])))
    await settle('after')
    await store.compact(key(0), key(rows))
    const left = await tableBytes(folder)
    t.ok(left < (rows * valueBytes) / 20, `${left} bytes are left of ${rows * valueBytes}`)
    for (const name of neighbours) t.equal(store.get(name)?.toString(), 'stays')
    t.equal(store.get(key(17)), undefined)
  })
}

t.test('what is written during a compaction is there afterwards', async (t) => {
  const folder = await temporaryFolder(t)
  const store = await Store.open(folder, storeLimits)
  const rows = 2_000
  const all = Array.from({ length: rows }, (_, number) => key(number))
  await store.write(new Map(all.map((name) => [name, randomBytes(valueBytes)])))
  const compacted = store.compact(key(0), key(rows))
  await store.write(new Map([[key(0), Buffer.from('again')]]))
  await store.write(new Map([[key(1), null]]))
  await compacted
  await store.close()
  const opened = await Store.open(folder, storeLimits)
  t.teardown(() => opened.close())
  t.equal(opened.get(key(0))?.toString(), 'again')
  t.equal(opened.get(key(1)), undefined)
  t.equal(opened.get(key(rows - 1))?.length, valueBytes)
})

t.test('a machine compacts by itself what many entries removed', async (t) => {
  const folder = join(await temporaryFolder(t), 'state')
  const clock = manualClock()
  const machine = await toyMachine(t, { folder, clock })
  const log = new ToyLog(machine)
  const rows = emptiedRowsMin
  const value = () => randomBytes(valueBytes).toString('hex')
  for (let number = 0; number < rows; number += 1) log.put('s', `n${number}`, value())
  log.put('s', 'stays')
  await machine.apply(log.take())
  await machine.flush()
  for (let number = 0; number < rows; number += 1) log.remove('s', `n${number}`)
  await machine.apply(log.take())
  const source = await machine.snapshot()
  await source.close()
  let gone = false
  await eventuallyTrue('they are gone from the table files', async () => {
    // Of no compaction there are no table files at all yet.
    clock.advance(compactionPauseMs)
    const bytes = await tableBytes(folder)
    gone = bytes > 0 && bytes < (rows * valueBytes) / 10
    return gone
  })
  t.equal(gone, true)
  t.same(await namesOf(machine.reader(), 's', null), ['stays'])
})
