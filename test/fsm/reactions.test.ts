/** What follows from facts: chains of them in one entry, and in bounded entries that no reader can tell from one. */
import t, { type Test } from 'tap'
import { Type, type Static } from 'typebox'
import type { ChangedEntry, Domain, Reader, Table } from '../../src/fsm/domain.ts'
import {
  defineFact,
  defineReaction,
  happened,
  hasMarks,
  markedAt,
  marksVersion,
  openMarks,
  smallCascadesVersion,
} from '../../src/fsm/fact.ts'
import type { MachineOptions } from '../../src/fsm/machine-options.ts'
import type { Machine } from '../../src/fsm/machine.ts'
import { Count, record } from '../../src/fsm/row-schema.ts'
import { seededRandom } from '../../src/lib/random.ts'
import { toyMachine, ToyLog, transfer } from './toy.ts'

const Id = Type.String()
const Owner = record({ id: Id, parent: Type.Union([Type.Null(), Id]), index: Count })
type Owner = Static<typeof Owner>

const owners: Table<Owner> = {
  name: 'owners',
  row: Owner,
  key: ({ id }) => [id],
  indexes: { byParent: ({ parent }) => (parent === null ? null : [parent]) },
}

const ownerGone = defineFact({
  name: 'owners.gone',
  payload: record({ id: Id }),
  key: ({ id }) => [id],
})

const Owned = record({ id: Id, owner: Type.Union([Type.Null(), Id]), index: Count, freed: Count })
type Owned = Static<typeof Owned>

const items: Table<Owned> = {
  name: 'items',
  row: Owned,
  key: ({ id }) => [id],
  indexes: { byOwner: ({ owner }) => (owner === null ? null : [owner]) },
}

/** As readers are to see it: it goes with what it is below. */
function goneAt(reader: Reader, owner: Owner): number | null {
  if (!hasMarks(reader)) return null
  let earliest: number | null = null
  let above: Owner | undefined = owner
  while (above?.parent !== undefined && above.parent !== null) {
    const moment = markedAt(reader, ownerGone, [above.parent], above.index)
    if (moment !== null) earliest = Math.min(earliest ?? Infinity, moment.index)
    above = reader.get(owners, [above.parent])
  }
  return earliest
}

function itemOf(reader: Reader, item: Owned): Owned {
  if (item.owner === null || !hasMarks(reader)) return item
  const own = markedAt(reader, ownerGone, [item.owner], item.index)
  const owner = reader.get(owners, [item.owner])
  const freed = own?.index ?? (owner === undefined ? null : goneAt(reader, owner))
  return freed === null ? item : { ...item, owner: null, freed }
}

const PutOwner = Type.Object({ id: Id, parent: Type.Union([Type.Null(), Id]) })
const PutItem = Type.Object({ id: Id, owner: Id })
const Remove = Type.Object({ ids: Type.Array(Id) })

const owning: Domain = {
  name: 'owning',
  tables: [owners],
  commands: {
    'owners.put': {
      args: PutOwner,
      load: () => null,
      apply: ({ index }, args: Static<typeof PutOwner>) => ({
        changes: [{ type: 'put', table: owners, row: { ...args, index } }],
        outcome: null,
      }),
    },
    'owners.remove': {
      args: Remove,
      load: (reader, { ids }: Static<typeof Remove>) =>
        ids.flatMap((id) => {
          const row = reader.get(owners, [id])
          return row === undefined || goneAt(reader, row) !== null ? [] : [row]
        }),
      apply: (_context, _args, rows: readonly Owner[]) => ({
        changes: rows.map(({ id }) => ({ type: 'delete', table: owners, key: [id] })),
        outcome: rows.length,
        happened: { nowMs: 7, facts: rows.map(({ id }) => happened(ownerGone, { id })) },
      }),
    },
  },
  reactions: [
    defineReaction({
      name: 'owners.below',
      on: ownerGone,
      table: owners,
      index: 'byParent',
      prefix: ({ id }) => [id],
      since: ({ index }) => index,
      emits: [ownerGone],
      react: (reader, { index }, _fact, rows) => {
        const own = rows.filter((row) => (goneAt(reader, row) ?? index) >= index)
        return {
          changes: own.map(({ id }) => ({ type: 'delete', table: owners, key: [id] })),
          happened: own.map(({ id }) => happened(ownerGone, { id })),
        }
      },
    }),
  ],
}

const having: Domain = {
  name: 'having',
  tables: [items],
  commands: {
    'items.put': {
      args: PutItem,
      load: (reader, { owner }: Static<typeof PutItem>) => {
        const row = reader.get(owners, [owner])
        return row !== undefined && goneAt(reader, row) === null
      },
      apply: ({ index }, args: Static<typeof PutItem>, stands: boolean) => ({
        changes: stands ? [{ type: 'put', table: items, row: { ...args, index, freed: 0 } }] : [],
        outcome: stands,
      }),
    },
  },
  reactions: [
    defineReaction({
      name: 'items.free',
      on: ownerGone,
      table: items,
      index: 'byOwner',
      prefix: ({ id }) => [id],
      since: ({ index }) => index,
      emits: [],
      react: (_reader, { index }, _fact, rows) => ({
        changes: rows.map((row) => ({
          type: 'put',
          table: items,
          row: { ...row, owner: null, freed: index },
        })),
        happened: [],
      }),
    }),
  ],
}

const domains = [owning, having]

async function machineOf(t: Test, options: Partial<MachineOptions> = {}): Promise<Machine> {
  const commandVersion = options.commandVersion ?? marksVersion
  const machine = await toyMachine(t, { domains, ...options, commandVersion })
  const log = new ToyLog(machine).command('state.raiseVersion', { version: commandVersion })
  await machine.apply(log.take())
  return machine
}

async function apply(machine: Machine, type: string, args: unknown): Promise<unknown> {
  const [outcome] = await machine.apply(
    new ToyLog(machine, machine.appliedIndex + 1).command(type, args).take(),
  )
  return outcome
}

async function goOn(machine: Machine): Promise<boolean> {
  const outcome = await apply(machine, 'state.continueCascades', { rowsMax: 100 })
  return (outcome as { readonly open: boolean }).open
}

/** What readers are shown: entries are numbered from the first that the two machines do not have in common. */
async function shown(machine: Machine) {
  const reader = machine.view()
  try {
    const rows: unknown[] = []
    for await (const page of reader.pages(owners)) {
      rows.push(...page.filter((row) => goneAt(reader, row) === null).map(({ id }) => id))
    }
    for await (const page of reader.pages(items)) {
      rows.push(...page.map((row) => itemOf(reader, row)).map(({ id, owner }) => [id, owner]))
    }
    return rows
  } finally {
    reader.close()
  }
}

/** `a` with two below it and one below those, and items of each. */
async function family(machine: Machine): Promise<void> {
  for (const [id, parent] of [
    ['a', null],
    ['b', 'a'],
    ['c', 'a'],
    ['d', 'b'],
    ['other', null],
  ]) {
    await apply(machine, 'owners.put', { id, parent })
  }
  for (const owner of ['a', 'b', 'c', 'd', 'other']) {
    for (const number of [1, 2]) await apply(machine, 'items.put', { id: owner + number, owner })
  }
}

void t.test('all that follows is written in the entry of the fact', async (t) => {
  const machine = await machineOf(t)
  await family(machine)
  const told: ChangedEntry[] = []
  machine.onChanges(['owners', 'items'], (entries) => told.push(...(entries ?? [])))
  await apply(machine, 'owners.put', { id: 'other', parent: null })
  const index = machine.appliedIndex + 1
  t.equal(await apply(machine, 'owners.remove', { ids: ['a'] }), 1)
  t.equal(machine.appliedIndex, index)
  t.same(machine.reader().get(items, ['d1']), { id: 'd1', owner: null, index: 13, freed: index })
  t.equal(machine.reader().get(items, ['other1'])?.owner, 'other')
  t.equal(hasMarks(machine.reader()), false)
  const rows = told.find((entry) => entry.index === index)?.rows ?? []
  t.same(
    rows.map(({ packed }) => (machine.unpackRow(packed) as { readonly id: string }).id),
    ['a', 'b', 'c', 'd', 'd1', 'd2', 'b1', 'b2', 'c1', 'c2', 'a1', 'a2'],
    'reactions in the order of the domains, and what follows from rows before the next reaction',
  )
})

void t.test('what is named twice, or follows twice, is reacted to once', async (t) => {
  const machine = await machineOf(t)
  await family(machine)
  const told: ChangedEntry[] = []
  await apply(machine, 'owners.put', { id: 'other', parent: null })
  machine.onChanges(['items'], (entries) => told.push(...(entries ?? [])))
  await apply(machine, 'owners.put', { id: 'other', parent: null })
  await apply(machine, 'owners.remove', { ids: ['a', 'b', 'a'] })
  t.equal(told.flatMap(({ rows }) => rows).length, 8)
})

void t.test('beyond the bound a mark stands for the rest', async (t) => {
  const machine = await machineOf(t, { cascadeRowsMax: 3 })
  await family(machine)
  const index = machine.appliedIndex + 1
  let woken = 0
  const view = machine.view()
  t.equal(itemOf(view, { id: 'd2', owner: 'd', index: 1, freed: 0 }).owner, 'd')
  machine.park(view.touched(), view.appliedIndex, () => (woken += 1))
  view.close()
  await apply(machine, 'owners.remove', { ids: ['a'] })
  t.equal(woken, 1, 'who saw what is free now is woken in the entry')
  t.equal(machine.reader().tableIndex(items), index)
  t.equal(machine.reader().tableIndex(owners), index)
  t.ok(hasMarks(machine.reader()))
  t.same(await shown(machine), [
    'other',
    ...['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'd1', 'd2'].map((id) => [id, null]),
    ['other1', 'other'],
    ['other2', 'other'],
  ])
  const before = await shown(machine)
  let entries = 1
  const parked = machine.view()
  for await (const page of parked.pages(items)) for (const row of page) itemOf(parked, row)
  machine.park(parked.touched(), parked.appliedIndex, () => (woken += 1))
  parked.close()
  for (; await goOn(machine); entries += 1) t.same(await shown(machine), before)
  t.ok(entries > 3, `${entries} entries`)
  t.equal(woken, 1, 'nobody is woken by what is seen already')
  t.equal(machine.reader().tableIndex(items), index)
  t.equal(hasMarks(machine.reader()), false)
  t.same(await shown(machine), before)
  t.equal(machine.reader().get(items, ['d2'])?.freed, index, 'written with the index of the fact')
  t.equal(machine.reader().get(items, ['d2'])?.owner, null)
})

void t.test('what comes after a fact is not concerned by its mark', async (t) => {
  const machine = await machineOf(t, { cascadeRowsMax: 3 })
  await family(machine)
  const first = machine.appliedIndex + 1
  await apply(machine, 'owners.remove', { ids: ['a'] })
  await apply(machine, 'owners.put', { id: 'late', parent: 'a' })
  await apply(machine, 'items.put', { id: 'late1', owner: 'late' })
  t.same((await shown(machine)).slice(0, 2), ['late', 'other'])
  await apply(machine, 'owners.put', { id: 'a', parent: null })
  const second = machine.appliedIndex + 1
  await apply(machine, 'owners.remove', { ids: ['a'] })
  t.same((await shown(machine)).slice(0, 1), ['other'], 'the same thing goes once more')
  while (await goOn(machine));
  t.equal(machine.reader().get(items, ['b1'])?.freed, first)
  t.equal(machine.reader().get(items, ['late1'])?.freed, second)
})

void t.test('a cluster with older servers knows no marks', async (t) => {
  const machine = await machineOf(t, { cascadeRowsMax: 3, commandVersion: marksVersion - 1 })
  await family(machine)
  await apply(machine, 'owners.remove', { ids: ['a'] })
  t.equal(machine.reader().get(openMarks, ['open']), undefined)
  t.equal(machine.reader().get(items, ['d2'])?.owner, null)
  t.throws(
    () => machine.encodeCommand({ type: 'state.continueCascades', args: { rowsMax: 100 } }),
    {
      code: 'not_implemented',
    },
  )
})

void t.test('a reaction runs, and counts, from the command version that brought it', async (t) => {
  const sinceVersion = marksVersion + 1
  const reactions = (having.reactions ?? []).map((reaction) => ({ ...reaction, sinceVersion }))
  const newer = { domains: [owning, { ...having, reactions }] }
  // Four scans for owners and the three that they find; scans for items would be too much.
  const cascadeRowsMax = 24
  const machine = await toyMachine(t, { ...newer, cascadeRowsMax, commandVersion: sinceVersion })
  const raise = async (version: number) => apply(machine, 'state.raiseVersion', { version })
  await raise(marksVersion)
  await family(machine)
  await apply(machine, 'owners.remove', { ids: ['a'] })
  t.equal(hasMarks(machine.reader()), false)
  t.equal(machine.reader().get(items, ['d1'])?.owner, 'd', 'an older server would leave it')
  await raise(sinceVersion)
  await family(machine)
  await apply(machine, 'owners.remove', { ids: ['a'] })
  t.ok(hasMarks(machine.reader()))
  while (await goOn(machine));
  t.equal(machine.reader().get(items, ['d1'])?.owner, null)
})

void t.test('an entry looks at fewer rows from the command version that says so', async (t) => {
  const machine = await toyMachine(t, {
    domains: [owning, having],
    commandVersion: smallCascadesVersion,
  })
  const raise = async (version: number) => apply(machine, 'state.raiseVersion', { version })
  const leavesMarks = async (count: number) => {
    await apply(machine, 'owners.put', { id: 'a', parent: null })
    for (let at = 0; at < count; at += 1) {
      await apply(machine, 'items.put', { id: `a${at}`, owner: 'a' })
    }
    await apply(machine, 'owners.remove', { ids: ['a'] })
    const has = hasMarks(machine.reader())
    while (await goOn(machine));
    return has
  }
  await raise(smallCascadesVersion - 1)
  t.equal(await leavesMarks(1_000), false)
  t.equal(await leavesMarks(1_024), true)
  await raise(smallCascadesVersion)
  t.equal(await leavesMarks(240), false)
  t.equal(await leavesMarks(256), true)
})

void t.test('random histories: bounded entries show what one entry would', async (t) => {
  const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_123)
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const pick = (most: number) => Math.floor(random.next() * most)
  for (let history = 0; history < 6; history += 1) {
    const whole = await machineOf(t)
    const bounded = await machineOf(t, { cascadeRowsMax: 1 + pick(30) })
    let marked = 0
    for (let step = 0; step < 120; step += 1) {
      const kind = pick(10)
      const id = `o${pick(9)}`
      const [type, args] =
        kind < 4
          ? ['items.put', { id: `i${pick(30)}`, owner: id }]
          : kind < 7
            ? ['owners.put', { id: `${id}.${step}`, parent: id }]
            : kind < 8
              ? ['owners.put', { id: `o${9 + step}`, parent: null }]
              : ['owners.remove', { ids: [id, `o${pick(9)}`] }]
      // An owner is never made anew while it stands: its parent would change under it.
      if (kind < 7 && kind >= 4) await both('owners.put', { id, parent: null })
      await both(type, args)
      if (hasMarks(bounded.reader())) marked += 1
      t.same(await shown(bounded), await shown(whole), `history ${history}, step ${step}`)
      if (pick(3) === 0) await goOn(bounded)
    }
    t.ok(marked > 0, `${marked} steps with marks`)
    const other = await machineOf(t, { cascadeRowsMax: 2 })
    await transfer(await bounded.snapshot(), other)
    t.same(await shown(other), await shown(bounded), 'a snapshot has the marks')
    while (await goOn(bounded));
    t.same(await shown(bounded), await shown(whole))

    async function both(type: unknown, args: unknown): Promise<void> {
      const { id } = args as { readonly id?: string }
      if (type === 'owners.put' && whole.reader().get(owners, [id ?? '']) !== undefined) return
      const outcome = await apply(whole, String(type), args)
      t.same(await apply(bounded, String(type), args), outcome)
    }
  }
})

void t.test('the same log leads to the same bytes, whatever the batches', async (t) => {
  const one = await machineOf(t, { cascadeRowsMax: 5 })
  const other = await machineOf(t, { cascadeRowsMax: 5 })
  const log = new ToyLog(one, 2)
  for (let step = 0; step < 40; step += 1) {
    log.command('owners.put', { id: `o${step}`, parent: step === 0 ? null : `o${step >> 1}` })
    log.command('items.put', { id: `i${step}`, owner: `o${step >> 1}` })
  }
  log.command('owners.remove', { ids: ['o0', 'o3'] })
  for (let step = 0; step < 200; step += 1) log.command('state.continueCascades', { rowsMax: 100 })
  const entries = log.take()
  for (const entry of entries) await one.apply([entry])
  await other.apply(entries)
  t.equal(await other.digest(), await one.digest())
  t.equal(one.reader().get(items, ['i39'])?.owner, null)
})
