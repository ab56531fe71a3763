/** The machine: entries in order, one atomic write, equal states whatever the batches, restarts and crashes. */
import t from 'tap'
import { commandVersion, pack } from '../../src/fsm/codec.ts'
import { StateFolder } from '../../src/fsm/folder.ts'
import { Store, storeLimits } from '../../src/fsm/store.ts'
import { formatRow } from '../../src/fsm/meta.ts'
import { seededRandom } from '../../src/lib/random.ts'
import type { Entry } from '../../src/raft/core/message.ts'
import { counters, crashCopy, namesOf, temporaryFolder, things, toyMachine, ToyLog } from './toy.ts'

/** A log of all kinds of entries; the same seed gives the same log. */
function randomLog(log: ToyLog, length: number, seed: number): Entry[] {
  const random = seededRandom(seed)
  const pick = (most: number) => Math.floor(random.next() * most)
  for (let step = 0; step < length; step += 1) {
    const kind = pick(10)
    const space = ['', 'a', 'a\x00', 'ab', 'é', '\u{1F600}'][pick(6)] ?? ''
    const name = `n${pick(12)}`
    if (kind < 5)
      log.put(space, name, 'x'.repeat(pick(200)), [null, 'red', 'blue'][pick(3)] ?? null)
    else if (kind < 7) log.remove(space, name)
    else if (kind === 7) log.command('toy.count', { name })
    else if (kind === 8) log.command('toy.sum', { space, tag: [null, 'red'][pick(2)] ?? null })
    else if (pick(2) === 0) log.noop()
    else log.configuration(`cluster ${step}`)
  }
  return log.take()
}

t.test('the same log in different batches leads to the same bytes and outcomes', async (t) => {
  const seed = 20_261_121
  t.comment(`seed ${seed}`)
  const one = await toyMachine(t)
  const other = await toyMachine(t)
  const entries = randomLog(new ToyLog(one), 600, seed)
  const outcomes = await one.apply(entries)
  const random = seededRandom(seed + 1)
  const otherOutcomes: unknown[] = []
  for (let done = 0; done < entries.length;) {
    const size = 1 + Math.floor(random.next() * 20)
    otherOutcomes.push(...(await other.apply(entries.slice(done, done + size))))
    done += size
  }
  t.same(otherOutcomes, outcomes)
  t.equal(await other.digest(), await one.digest())
  t.equal(one.appliedIndex, 600)
  const before = await one.digest()
  await one.apply(new ToyLog(one, 601).put('z', 'z').take())
  t.not(await one.digest(), before, 'the digest sees a changed row')
})

t.test('an entry sees what earlier entries of its batch changed, also in scans', async (t) => {
  const machine = await toyMachine(t)
  await machine.apply(new ToyLog(machine).put('s', 'b', '', 'red').put('s', 'd').take())
  const log = new ToyLog(machine, 3)
    .command('toy.count', { name: 'c' })
    .command('toy.count', { name: 'c' })
    .put('s', 'a', '', 'red')
    .put('s', 'c')
    .remove('s', 'd')
    .put('s', 'b', 'untagged')
    .command('toy.sum', { space: 's', tag: null })
    .command('toy.sum', { space: 's', tag: 'red' })
  const outcomes = await machine.apply(log.take())
  t.same(outcomes.slice(0, 2), [1, 2])
  t.same(outcomes.slice(6), [['a', 'b', 'c'], ['a']])
})

t.test('what is inserted is found, changed and deleted as what was put', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  const added = { space: 's', name: 'a', value: 'v', tag: 'red' }
  await machine.apply(log.command('toy.add', added).take())
  t.match(machine.reader().get(things, ['s', 'a']), { value: 'v', index: 1 })
  t.same(await namesOf(machine.reader(), 's', 'red'), ['a'])
  await machine.apply(log.put('s', 'a', '', 'blue').take())
  t.same(await namesOf(machine.reader(), 's', 'red'), [])
  await machine.apply(log.remove('s', 'a').command('toy.add', added).take())
  t.same(await namesOf(machine.reader(), 's', 'blue'), [])
  t.same(await namesOf(machine.reader(), 's', 'red'), ['a'])
})

t.test('indexes are kept in step on update and delete', async (t) => {
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  await machine.apply(log.put('s', 'a', '', 'red').put('s', 'b', '', 'red').take())
  t.same(await namesOf(machine.reader(), 's', 'red'), ['a', 'b'])
  await machine.apply(log.put('s', 'a', '', 'blue').take())
  t.same(await namesOf(machine.reader(), 's', 'red'), ['b'])
  t.same(await namesOf(machine.reader(), 's', 'blue'), ['a'])
  await machine.apply(log.put('s', 'a', '', null).remove('s', 'b').take())
  t.same(await namesOf(machine.reader(), 's', 'red'), [])
  t.same(await namesOf(machine.reader(), 's', 'blue'), [])
})

t.test(
  'a table’s index is that of its last change, at least 1, and survives a restart',
  async (t) => {
    const folder = await temporaryFolder(t)
    const machine = await toyMachine(t, { folder })
    const reader = machine.reader()
    t.same([reader.tableIndex(things), reader.tableIndex(counters)], [1, 1])
    t.same([reader.appliedIndex, reader.floorIndex], [0, 1])
    const log = new ToyLog(machine).noop().put('s', 'a').noop().remove('s', 'a').remove('s', 'no')
    await machine.apply(log.take())
    t.same([reader.tableIndex(things), reader.tableIndex(counters)], [4, 1])
    await machine.close()
    const again = (await toyMachine(t, { folder })).reader()
    t.same([again.tableIndex(things), again.appliedIndex], [4, 5])
    t.same(again.get(counters, ['seeded']), { name: 'seeded', count: 7 }, 'seeds are there once')
  },
)

t.test('flush tells what it made durable: index, term and configuration', async (t) => {
  const machine = await toyMachine(t)
  t.same(await machine.flush(), {
    index: 0,
    term: 0,
    configuration: { clusterId: '', members: [] },
    configurationIndex: 0,
  })
  await machine.apply(new ToyLog(machine).noop().configuration('two').put('s', 'a').take())
  t.same(await machine.flush(), {
    index: 3,
    term: 3,
    configuration: { clusterId: 'two', members: [] },
    configurationIndex: 2,
  })
})

t.test(
  'a crash leaves a whole batch, and the rest of the log leads to the same state',
  async (t) => {
    const folder = await temporaryFolder(t)
    const seed = 7
    t.comment(`seed ${seed}`)
    const machine = await toyMachine(t, { folder })
    const entries = randomLog(new ToyLog(machine), 300, seed)
    const copies: string[] = []
    for (let done = 0; done < entries.length; done += 30) {
      await machine.apply(entries.slice(done, done + 30))
      if (done % 90 === 0) copies.push(await crashCopy(t, folder))
    }
    const wanted = await machine.digest()
    for (const copy of copies) {
      const revived = await toyMachine(t, { folder: copy })
      t.equal(revived.appliedIndex % 30, 0, 'batches are whole')
      await revived.apply(entries.slice(revived.appliedIndex))
      t.equal(await revived.digest(), wanted)
      await revived.close()
    }
  },
)

t.test('entries that this program cannot apply stop the machine', async (t) => {
  const cases: [string, Uint8Array][] = [
    ['a command nobody defines', pack([1, 1, 'toy.unheard', {}])],
    ['arguments that do not check', pack([1, 1, 'toy.count', { name: 3 }])],
    ['a newer command version', pack([1, commandVersion + 1, 'toy.count', { name: 'a' }])],
    ['another envelope', pack([2, 1, 'toy.count', { name: 'a' }])],
    ['no msgpack', Buffer.from([0xc1])],
  ]
  for (const [name, data] of cases) {
    const machine = await toyMachine(t)
    const good = new ToyLog(machine).put('s', 'a').take()
    const bad: Entry = { index: 2, term: 1, kind: 'command', data }
    await t.rejects(machine.apply([...good, bad]), { code: 'incompatible' }, name)
    t.equal(machine.appliedIndex, 0, 'nothing of the batch took effect')
    await t.rejects(machine.apply(good), { code: 'incompatible' }, 'and nothing does later')
    await machine.close()
  }
})

t.test('a command is checked before it is proposed', async (t) => {
  const machine = await toyMachine(t)
  const encode = (type: string, args: unknown) => () => machine.encodeCommand({ type, args })
  t.throws(encode('toy.count', { name: 3 }), { code: 'internal' })
  t.throws(encode('toy.unheard', {}), { code: 'internal' })
  t.throws(encode('toy.count', { name: 'x'.repeat(3_000_000) }), { code: 'too_large' })
})

t.test('a state written by a newer program is refused with a sentence', async (t) => {
  const folder = await temporaryFolder(t)
  const machine = await toyMachine(t, { folder })
  await machine.close()
  const state = await StateFolder.open(folder)
  const store = await Store.open(state.pathOf((await state.current()) ?? ''), storeLimits)
  await store.write(new Map([[formatRow.key, formatRow.encode(2)]]))
  await store.close()
  state.close()
  await t.rejects(toyMachine(t, { folder }), { code: 'incompatible', message: /format 2.*up to 1/ })
})

t.test('a folder in use is refused', async (t) => {
  const folder = await temporaryFolder(t)
  await toyMachine(t, { folder })
  await t.rejects(toyMachine(t, { folder }), { code: 'unavailable' })
})
