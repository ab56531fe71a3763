/** An operator's restore through the log: rows in chunks, one commit, and all its refusals. */
import t from 'tap'
import { StateFolder } from '../../src/fsm/folder.ts'
import { pack, unpack } from '../../src/fsm/codec.ts'
import { encodeKey, generationPrefix } from '../../src/fsm/keys.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import { decodeBlock, encodeBlock, noRowsDigest, restoreDigest } from '../../src/fsm/restore.ts'
import type { ArchivedRow } from '../../src/fsm/restore.ts'
import { Store, storeLimits } from '../../src/fsm/store.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { counters, namesOf, temporaryFolder, things, toyMachine, ToyLog } from './toy.ts'

type Archive = { readonly blocks: Uint8Array[]; readonly rows: number; readonly digest: string }

async function archiveOf(machine: Machine): Promise<Archive> {
  const rows = machine.exportRows()
  try {
    const blocks: Uint8Array[] = []
    for await (const block of rows.blocks()) blocks.push(block)
    return { blocks, rows: rows.rows, digest: rows.digest }
  } finally {
    rows.close()
  }
}

function restoreEntries(log: ToyLog, { blocks, rows, digest }: Archive, id = 'r'): ToyLog {
  log.command('state.restoreBegin', { id })
  for (const [number, block] of blocks.entries()) {
    log.command('state.restoreChunk', { id, number, rows: block })
  }
  return log.command('state.restoreCommit', { id, rows, digest })
}

function rowsOf(block: Uint8Array | undefined): ArchivedRow[] {
  const rows = decodeBlock(block ?? Buffer.alloc(0))
  if (typeof rows === 'string') throw new Error(rows)
  return [...rows]
}

/** An archive of several blocks: three spaces, some rows tagged. */
async function sampleArchive(test: Parameters<typeof toyMachine>[0]): Promise<Archive> {
  const source = await toyMachine(test)
  const log = new ToyLog(source)
  for (let number = 0; number < 90; number += 1) {
    log.put(`s${number % 3}`, `n${number}`, 'v'.repeat(9000), number % 2 === 0 ? 'red' : null)
  }
  await source.apply(log.take())
  const archive = await archiveOf(source)
  await source.close()
  return archive
}

t.test(
  'a restore replaces the rows of all tables at one index, on every server alike',
  async (t) => {
    const archive = await sampleArchive(t)
    t.ok(archive.blocks.length > 2, 'several blocks')
    t.equal(archive.rows, 91, 'the seeded row is among them')
    const one = await toyMachine(t)
    const other = await toyMachine(t)
    const log = new ToyLog(one)
    log.put('old', 'gone', '', 'red').command('toy.count', { name: 'seeded' })
    restoreEntries(log, archive).put('s0', 'after', '', 'red').noop()
    const entries = log.take()
    const before = entries.slice(0, 5)
    await one.apply(before)
    t.equal(one.reader().get(things, ['s0', 'n0']), undefined, 'nothing shows before the commit')
    const view = one.view()
    let woken = false
    one.park(view.touched(), view.appliedIndex, () => {
      woken = true
    })
    await one.apply(entries.slice(5))
    await other.apply(entries)

    const committed = entries.length - 2
    const reader = one.reader()
    t.ok(woken, 'whoever is parked wakes')
    t.equal(reader.get(things, ['old', 'gone']), undefined)
    t.equal(reader.get(counters, ['seeded'])?.count, 7, 'the archive’s row, not the changed one')
    t.equal(
      (await namesOf(reader, '', 'red')).length,
      45 + 1,
      'indexes are built anew, and the entry after sees them',
    )
    t.equal(reader.floorIndex, committed)
    t.same([reader.tableIndex(counters), reader.tableIndex(things)], [committed, committed + 1])
    t.equal(view.get(things, ['old', 'gone'])?.tag, 'red', 'an open view stays with its state')
    view.close()
    t.equal(await one.digest(), await other.digest())
  },
)

t.test('rows of replaced states are swept, now or after a restart', async (t) => {
  const archive = await sampleArchive(t)
  const folder = await temporaryFolder(t)
  const lines: string[] = []
  const note = (message: string, fields: unknown) =>
    lines.push(`${message} ${JSON.stringify(fields)}`)
  const logger = {
    trace() {},
    debug() {},
    info: note,
    warn: note,
    error: note,
    named: () => logger,
    listens: () => false,
  }
  const machine = await toyMachine(t, { folder, logger })
  const log = new ToyLog(machine)
  for (let number = 0; number < 1000; number += 1) log.put('old', `n${number}`)
  await machine.apply(restoreEntries(log, archive).take())
  await eventuallyTrue('the old rows are removed', () => lines.length > 0)
  // A thousand rows, the seed, and the two last indexes of tables.
  t.same(lines, ['removed rows of replaced states {"rows":1003}'])
  const digest = await machine.digest()
  await machine.close()

  // A crash in the middle of a sweep leaves rows of the first generation.
  const state = await StateFolder.open(folder)
  const store = await Store.open(state.pathOf((await state.current()) ?? ''), storeLimits)
  await store.write(new Map([[`${generationPrefix(1)}left over`, Buffer.of(1)]]))
  await store.close()
  state.close()
  lines.length = 0
  const again = await toyMachine(t, { folder, logger })
  t.equal(await again.digest(), digest)
  t.equal(again.reader().floorIndex, machine.appliedIndex)
  await eventuallyTrue('the row left over is removed', () => lines.length > 0)
  t.same(lines, ['removed rows of replaced states {"rows":1}'])
})

t.test(
  'a later begin voids the earlier restore, and abort leaves the state as it was',
  async (t) => {
    const archive = await sampleArchive(t)
    const machine = await toyMachine(t)
    const log = new ToyLog(machine)
    const [first] = archive.blocks
    const outcomes = await machine.apply(
      log
        .put('s', 'kept')
        .command('state.restoreBegin', { id: 'one' })
        .command('state.restoreChunk', { id: 'one', number: 0, rows: first })
        .command('state.restoreBegin', { id: 'two' })
        .command('state.restoreChunk', { id: 'one', number: 1, rows: first })
        .command('state.restoreCommit', { id: 'one', rows: 0, digest: noRowsDigest })
        .command('state.restoreChunk', { id: 'two', number: 0, rows: first })
        .command('state.restoreAbort', { id: 'two' })
        .command('state.restoreCommit', { id: 'two', rows: 0, digest: noRowsDigest })
        .take(),
    )
    t.same(
      outcomes.slice(1).map((outcome) => (outcome as { ok: boolean }).ok),
      [true, true, true, false, false, true, true, false],
    )
    t.equal(machine.reader().get(things, ['s', 'kept'])?.name, 'kept')
    t.equal(machine.reader().floorIndex, 1)
  },
)

t.test('what is not an archive in order is refused, with a reason', async (t) => {
  const archive = await sampleArchive(t)
  const rows = rowsOf(archive.blocks[0])
  const [one, two] = [rows[1], rows[2]]
  if (one === undefined || two === undefined) throw new Error('the sample has rows')
  const cases: [string, { number?: number; rows: Uint8Array }, RegExp][] = [
    ['a gap', { number: 1, rows: encodeBlock([one]) }, /chunk 1 came where chunk 0/],
    ['no msgpack', { rows: Buffer.from([0xd9]) }, /not msgpack/],
    ['no pairs', { rows: encodeBlock([one]).subarray(0, 0) }, /not msgpack|not pairs/],
    ['wrong order', { rows: encodeBlock([two, one]) }, /order of their keys/],
    ['a row twice', { rows: encodeBlock([one, one]) }, /order of their keys/],
    [
      'another row’s key',
      { rows: encodeBlock([{ key: one.key, value: two.value }]) },
      /another row/,
    ],
    [
      'a row that is no row',
      { rows: encodeBlock([{ key: one.key, value: Buffer.of(1) }]) },
      /is not such as this program writes/,
    ],
    [
      'an unknown table',
      {
        rows: encodeBlock([
          { ...one, key: one.key.replace('counters', 'computers').replace('things', 'thongs') },
        ]),
      },
      /table that this program does not know/,
    ],
    [
      'an index entry',
      { rows: encodeBlock([{ ...one, key: `\x02${one.key.slice(1)}` }]) },
      /does not know/,
    ],
  ]
  for (const [name, chunk, reason] of cases) {
    const machine = await toyMachine(t)
    const log = new ToyLog(machine)
      .command('state.restoreBegin', { id: 'r' })
      .command('state.restoreChunk', { id: 'r', number: 0, ...chunk })
    const outcomes = await machine.apply(log.take())
    t.match(outcomes[1], { ok: false, reason }, name)
    await machine.close()
  }
})

t.test('a row of another shape is refused, and the restore can be begun anew', async (t) => {
  const archive = await sampleArchive(t)
  const [counter, thing] = rowsOf(archive.blocks[0])
  if (counter === undefined || thing === undefined) throw new Error('the sample has rows')
  const machine = await toyMachine(t)
  const log = new ToyLog(machine)
  await machine.apply(log.put('s', 'kept').take())
  const before = await archiveOf(machine)
  const row = unpack(thing.value) as Record<string, unknown>
  const without = (name: string) =>
    Object.fromEntries(Object.entries(row).filter(([member]) => member !== name))
  let deep: unknown = 1
  for (let level = 0; level < 300; level += 1) deep = [deep]
  const cases: [string, unknown][] = [
    ...Object.keys(row).map((name): [string, unknown] => [`without ${name}`, without(name)]),
    ['a number that is text', { ...row, index: '1' }],
    ['a number below zero', { ...row, index: -1 }],
    ['a number with a fraction', { ...row, index: 1.5 }],
    ['a number that no counting reaches', { ...row, index: 2 ** 60 }],
    ['no number', { ...row, index: NaN }],
    ['text that is bytes', { ...row, value: Buffer.from('v') }],
    ['text that is a list', { ...row, value: ['v'] }],
    ['a tag that is neither', { ...row, tag: 1 }],
    ['a member that is unknown', { ...row, more: 1 }],
    ['a member that is deep', { ...row, more: deep }],
    ['a list', Object.values(row)],
    ['text', 'row'],
    ['nothing', null],
  ]
  for (const [name, value] of cases) {
    const block = encodeBlock([counter, { key: thing.key, value: pack(value) }])
    const [, refused] = await machine.apply(
      log
        .command('state.restoreBegin', { id: name })
        .command('state.restoreChunk', { id: name, number: 0, rows: block })
        .take(),
    )
    t.match(refused, { ok: false, reason: /^a row of table things in the archive is not/ }, name)
  }
  t.same(await archiveOf(machine), before, 'nothing changed')
  const outcomes = await machine.apply(restoreEntries(log, archive).take())
  t.match(outcomes.at(-1), { ok: true, rows: archive.rows })
  t.equal(machine.reader().get(things, ['s', 'kept']), undefined)
})

t.test('what cannot be the key of an index is refused as well', async (t) => {
  const machine = await toyMachine(t)
  const row = { space: 's', name: 'n', value: '', tag: 'x'.repeat(20_000), index: 1 }
  const key = `\x01${encodeKey(['things', 's', 'n'])}`
  const outcomes = await machine.apply(
    new ToyLog(machine)
      .command('state.restoreBegin', { id: 'r' })
      .command('state.restoreChunk', {
        id: 'r',
        number: 0,
        rows: encodeBlock([{ key, value: pack(row) }]),
      })
      .put('s', 'after')
      .take(),
  )
  t.match(outcomes[1], { ok: false, reason: /a key has at most/ })
  t.ok(machine.reader().get(things, ['s', 'after']), 'the server goes on')
})

t.test('a commit checks the number of rows and the digest over all blocks', async (t) => {
  const archive = await sampleArchive(t)
  const machine = await toyMachine(t)
  const { blocks, rows, digest } = archive
  t.equal(blocks.reduce(restoreDigest, noRowsDigest), digest)
  const entries = restoreEntries(new ToyLog(machine), { blocks, rows: rows - 1, digest }).take()
  const more = new ToyLog(machine, entries.length + 1)
    .command('state.restoreCommit', { id: 'r', rows, digest: `${digest.slice(1)}0` })
    .command('state.restoreCommit', { id: 'r', rows, digest })
  const outcomes = await machine.apply([...entries, ...more.take()])
  t.same(
    outcomes.slice(-3).map((outcome) => (outcome as { ok: boolean }).ok),
    [false, false, true],
  )
})
