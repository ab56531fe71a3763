/** Snapshots between machines: the same state there, whatever goes wrong on the way. */
import { createHash } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import t from 'tap'
import { pack } from '../../src/fsm/codec.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import {
  chunksOf,
  crashCopy,
  namesOf,
  sha256,
  temporaryFolder,
  things,
  toyMachine,
  ToyLog,
  transfer,
} from './toy.ts'

async function filled(
  test: Parameters<typeof toyMachine>[0],
  rows = 1500,
): Promise<[Machine, ToyLog]> {
  const machine = await toyMachine(test)
  const log = new ToyLog(machine).configuration('cluster one')
  for (let number = 0; number < rows; number += 1) {
    log.put(
      's',
      `n${String(number).padStart(5, '0')}`,
      'v'.repeat(number % 1000),
      number % 5 === 0 ? 'red' : null,
    )
  }
  await machine.apply(log.take())
  return [machine, log]
}

t.test('a snapshot brings the same state, and the log goes on from there', async (t) => {
  const [machine, log] = await filled(t)
  const source = await machine.snapshot()
  const folder = await temporaryFolder(t)
  const other = await toyMachine(t, { folder })
  await other.apply(new ToyLog(other).put('mine', 'gone').take())
  const written = log.put('s', 'n00000', 'later').remove('s', 'n00001').take()
  await machine.apply(written)
  await transfer(source, other)
  await source.close()
  t.same(source.meta, {
    index: 1501,
    term: 3,
    configuration: { clusterId: 'cluster one', members: [] },
    configurationIndex: 1,
  })
  t.same([other.appliedIndex, other.installedIndex, machine.installedIndex], [1501, 1501, 0])
  t.equal(other.reader().tableIndex(things), 1501)
  await other.apply(written)
  t.equal(await other.digest(), await machine.digest())
  t.same((await other.flush()).configuration, source.meta.configuration)
  await other.close()
  t.same(
    (await readdir(folder)).toSorted(),
    ['STATE', 'state-2', 'state.lock'],
    'the old folder is gone',
  )
  const again = await toyMachine(t, { folder })
  t.same([again.appliedIndex, again.installedIndex], [1503, 1501])
  t.equal(await again.digest(), await machine.digest())
})

t.test('chunks are bounded, and the same from any number', async (t) => {
  const [machine] = await filled(t)
  const source = await machine.snapshot()
  const late = await chunksOf(source, 2)
  const all = await chunksOf(source)
  t.ok(all.length >= 3)
  t.ok(all.every((chunk) => chunk.byteLength <= 1024 * 1024))
  t.ok(Buffer.concat(all.slice(2)).equals(Buffer.concat(late)), 'asked for in the middle first')
  t.ok(Buffer.concat(await chunksOf(source)).equals(Buffer.concat(all)))
  t.same(await chunksOf(source, all.length), [])
  const fake = await machine.snapshot()
  t.not(fake.id, source.id)
  await fake.close()
  await source.close()
})

t.test('a transfer goes on within its id, and starts over with another', async (t) => {
  const [machine] = await filled(t)
  const source = await machine.snapshot()
  const chunks = await chunksOf(source)
  const other = await toyMachine(t)
  const first = await other.stage('elsewhere', source.meta)
  await first.write(chunks[0] ?? Buffer.alloc(0))
  const sink = await other.stage(source.id, source.meta)
  t.equal(sink.received, 0)
  await t.rejects(first.write(chunks[1] ?? Buffer.alloc(0)), { code: 'cancelled' })
  await sink.write(chunks[0] ?? Buffer.alloc(0))
  const resumed = await other.stage(source.id, source.meta)
  t.equal(resumed.received, 1)
  for await (const chunk of source.chunks(resumed.received)) await resumed.write(chunk)
  await resumed.finish(sha256(chunks))
  await resumed.finish(sha256(chunks))
  await other.install(source.meta)
  t.equal(await other.digest(), await machine.digest())
  await source.close()
})

t.test('a damaged or foreign snapshot is refused and can be sent again', async (t) => {
  const [machine] = await filled(t)
  const source = await machine.snapshot()
  const chunks = await chunksOf(source)
  const other = await toyMachine(t)
  const sink = await other.stage(source.id, source.meta)
  for (const chunk of chunks) await sink.write(chunk)
  await t.rejects(sink.finish('0'.repeat(64)), { code: 'corrupt' })
  t.equal((await other.stage(source.id, source.meta)).received, 0)
  const elsewhere = await other.stage('x', { ...source.meta, index: 9000 })
  for (const chunk of chunks) await elsewhere.write(chunk)
  await t.rejects(elsewhere.finish(sha256(chunks)), { code: 'corrupt' })
  const foreign = await other.stage('y', source.meta)
  await t.rejects(foreign.write(pack([2, 'key', Buffer.of(1)])), {
    code: 'incompatible',
    message: /format 2/,
  })
  await t.rejects(foreign.write(pack([1, '\x00\x00\x00\x00l:format', Buffer.of(1)])), {
    code: 'corrupt',
  })
  await t.rejects(foreign.write(Buffer.of(0xc1)), { code: 'corrupt' })
  await t.rejects(other.install(source.meta), { name: 'AssertionError' })
  t.equal(other.appliedIndex, 0)
  await source.close()
})

t.test('a crash before or after the switch starts with one whole state', async (t) => {
  const [machine] = await filled(t)
  const source = await machine.snapshot()
  const chunks = await chunksOf(source)
  const folder = await temporaryFolder(t)
  const other = await toyMachine(t, { folder })
  await other.apply(new ToyLog(other).put('mine', 'old').take())
  await other.flush()
  const mine = await other.digest()
  const sink = await other.stage(source.id, source.meta)
  for (const chunk of chunks.slice(0, 2)) await sink.write(chunk)
  const half = await crashCopy(t, folder)
  for (const chunk of chunks.slice(2)) await sink.write(chunk)
  await sink.finish(sha256(chunks))
  const staged = await crashCopy(t, folder)
  await other.install(source.meta)
  const installed = await crashCopy(t, folder)
  const wanted: [string, string][] = [
    [half, mine],
    [staged, mine],
    [installed, await machine.digest()],
  ]
  for (const [copy, digest] of wanted) {
    const revived = await toyMachine(t, { folder: copy })
    t.equal(await revived.digest(), digest)
    t.equal((await readdir(copy)).filter((name) => name.startsWith('state-')).length, 1)
    await revived.close()
  }
  await source.close()
})

t.test(
  'reads during an install end with the old state or fail as retryable; new ones see the new',
  async (t) => {
    const [machine] = await filled(t)
    const [other, otherLog] = await filled(t, 1000)
    await other.apply(otherLog.put('other', 'only').take())
    // So that the rows are read from the store that goes.
    await other.flush()
    const source = await machine.snapshot()
    const view = other.view()
    const pages = view.pages(things)[Symbol.asyncIterator]()
    t.equal((await pages.next()).value?.length, 512)
    t.equal(view.get(things, ['other', 'only'])?.name, 'only')
    let woken = false
    other.park(view.touched(), view.appliedIndex, () => {
      woken = true
    })
    await transfer(source, other)
    t.ok(woken)
    t.equal(view.get(things, ['other', 'only'])?.name, 'only', 'what was read stays as it was')
    t.throws(() => view.get(things, ['other', 'another']), { code: 'unavailable' })
    await t.rejects(pages.next(), { code: 'unavailable' })
    view.close()
    const after = other.view()
    t.equal(after.get(things, ['other', 'only']), undefined)
    t.equal((await namesOf(after, 's', null)).length, 1500)
    after.close()
    await source.close()
  },
)

t.test('writes go on while a snapshot is taken and sent', async (t) => {
  const [machine, log] = await filled(t)
  const source = await machine.snapshot()
  const other = await toyMachine(t)
  const sink = await other.stage(source.id, source.meta)
  const hash = createHash('sha256')
  for await (const chunk of source.chunks(0)) {
    await machine.apply(
      log.put('s', 'n00700', `${log.entries.length}`).remove('s', 'n00701').take(),
    )
    hash.update(chunk)
    await sink.write(chunk)
  }
  await sink.finish(hash.digest('hex'))
  await other.install(source.meta)
  await source.close()
  t.equal(other.appliedIndex, 1501)
  t.equal(other.reader().get(things, ['s', 'n00701'])?.name, 'n00701')
})

t.test('a restore under way travels along', async (t) => {
  const [machine, log] = await filled(t, 10)
  const rows = machine.exportRows()
  const blocks: Uint8Array[] = []
  for await (const block of rows.blocks()) blocks.push(block)
  rows.close()
  log.put('s', 'new').command('state.restoreBegin', { id: 'r' })
  await machine.apply(
    log.command('state.restoreChunk', { id: 'r', number: 0, rows: blocks[0] }).take(),
  )
  const source = await machine.snapshot()
  const other = await toyMachine(t)
  await transfer(source, other)
  await source.close()
  const commit = log
    .command('state.restoreCommit', { id: 'r', rows: rows.rows, digest: rows.digest })
    .take()
  t.match(await machine.apply(commit), [{ ok: true }])
  t.match(await other.apply(commit), [{ ok: true }])
  t.equal(await other.digest(), await machine.digest())
  t.equal(other.reader().get(things, ['s', 'new']), undefined)
})
