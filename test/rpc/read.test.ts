import t from 'tap'
import Type from 'typebox'
import { MusterError } from '../../src/lib/errors.ts'
import type { AnyQuery, ReadOptions } from '../../src/rpc/method.ts'
import { defineQuery, type Caller } from '../../src/rpc/method.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { fakeServer, fakeTable, type FakeRow } from '../support/rpc-fakes.ts'

const caller: Caller = { token: null, remote: '10.0.0.1', requestId: 'r1' }
const none = () => ({ resource: 'none' }) as const

/** One row: its own index, the table's when it is absent. */
const get = defineQuery({
  kind: 'query',
  name: 'rows.get',
  args: Type.Object({ key: Type.String() }),
  requires: none,
  query(reader, { key }) {
    const row = reader.get(fakeTable, [key])
    return { value: row?.value ?? null, index: row?.index ?? reader.tableIndex(fakeTable as never) }
  },
})

const list = defineQuery({
  kind: 'query',
  name: 'rows.list',
  args: Type.Object({ prefix: Type.String() }),
  requires: none,
  async query(reader, { prefix }) {
    const rows: string[] = []
    for await (const page of reader.pages(fakeTable, { startsWith: prefix })) {
      rows.push(...page.map((row) => row.key))
    }
    return { value: rows, index: reader.tableIndex(fakeTable as never) }
  },
})

const stream = defineQuery({
  kind: 'query',
  name: 'rows.stream',
  args: Type.Object({}),
  requires: none,
  query: (reader) => ({
    value: reader.pages(fakeTable),
    index: reader.tableIndex(fakeTable as never),
  }),
})

function server(limits: { readonly noLeaderMs?: number; readonly parkedMax?: number } = {}) {
  const fake = fakeServer({ methods: [get, list, stream], limits })
  const read = (
    method: AnyQuery,
    args: unknown,
    options: Partial<ReadOptions> = {},
    signal?: AbortSignal,
  ) =>
    fake.dispatcher.query(
      method,
      args,
      caller,
      { consistency: 'default', minIndex: 0, waitMs: 60_000, ...options },
      signal === undefined ? {} : { signal },
    )
  return { ...fake, read }
}

const parked = (fake: ReturnType<typeof server>, count: number) =>
  eventuallyTrue(
    `${count} parked`,
    () => fake.dispatcher.parkedCount === count && fake.state.parkedCount === count,
  )

t.test('each consistency asks for its own freshness', async (t) => {
  const { read, consensus } = server()
  await read(get, { key: 'a' }, { consistency: 'default' })
  await read(get, { key: 'a' }, { consistency: 'consistent' })
  await read(get, { key: 'a' }, { consistency: 'stale' })
  t.same(consensus.barriers, ['leader', 'linearizable'])
})

t.test(
  'a server that has not caught up since its start does not answer stale from nothing',
  async (t) => {
    const { read, consensus, state } = server({ noLeaderMs: 20 })
    consensus.elect(null)
    await t.rejects(read(get, { key: 'a' }, { consistency: 'stale' }), { code: 'no_leader' })
    state.put('a', 1)
    const old = await read(get, { key: 'a' }, { consistency: 'stale' })
    t.equal(old.value, 1, 'but an old copy is better than none')
  },
)

t.test('without a leader, reads that need one fail in bounded time', async (t) => {
  const { read, consensus } = server({ noLeaderMs: 20 })
  consensus.elect(null)
  for (const consistency of ['default', 'consistent'] as const) {
    await t.rejects(read(get, { key: 'a' }, { consistency }), { code: 'no_leader' })
  }
  consensus.onBarrier = () => Promise.reject(new MusterError('timeout', 'no quorum'))
  await t.rejects(read(get, { key: 'a' }, { consistency: 'consistent' }), {
    code: 'no_leader',
  })
})

t.test('an index is never 0 and never below the floor of a restore', async (t) => {
  const { read, state } = server()
  t.equal((await read(get, { key: 'a' })).index, 1)
  state.put('a', 1)
  state.floorIndex = 70
  t.equal((await read(get, { key: 'a' })).index, 70)
})

t.test('a read with an older index answers at once', async (t) => {
  const { read, state } = server()
  state.put('a', 1)
  state.put('a', 2)
  const answer = await read(get, { key: 'a' }, { minIndex: 1 })
  t.same([answer.value, answer.index], [2, 2])
})

t.test('a parked read of one row sleeps through other rows and wakes for its own', async (t) => {
  const fake = server()
  fake.state.put('a', 1)
  const waiting = fake.read(get, { key: 'a' }, { minIndex: 1 })
  await parked(fake, 1)
  const views = fake.state.viewsOpened
  for (let n = 0; n < 50; n += 1) fake.state.put('b', n)
  await new Promise(setImmediate)
  t.equal(fake.state.viewsOpened, views, 'nothing was read for the others')
  fake.state.put('a', 2)
  const answer = await waiting
  t.same([answer.value, answer.index], [2, 52])
  t.equal(fake.state.openViews, 0)
})

t.test(
  'a read of an absent row wakes when it appears, one of a present row when it goes',
  async (t) => {
    const fake = server()
    fake.state.put('b', 1)
    const appears = fake.read(get, { key: 'a' }, { minIndex: 1 })
    await parked(fake, 1)
    fake.state.put('a', 1)
    t.same((await appears).value, 1)
    const goes = fake.read(get, { key: 'a' }, { minIndex: 2 })
    await parked(fake, 1)
    fake.state.delete('a')
    t.same(await goes.then((answer) => [answer.value, answer.index]), [null, 3])
  },
)

t.test(
  'an index older than the answer is answered at once; who waits is woken by no other rows',
  async (t) => {
    const fake = server()
    fake.state.put('app/a', 1)
    fake.state.put('web/a', 1)
    t.equal((await fake.read(list, { prefix: 'app/' }, { minIndex: 1 })).index, 2)
    const waiting = fake.read(list, { prefix: 'app/' }, { minIndex: 2 })
    await parked(fake, 1)
    fake.state.put('web/a', 2)
    fake.state.put('app/b', 1)
    t.same(await waiting.then(({ value, index }) => [value, index]), [['app/a', 'app/b'], 4])
  },
)

t.test(
  'a query of its own changes waits although its index has moved on for other rows',
  async (t) => {
    const fake = server()
    fake.state.put('app/a', 1)
    fake.state.put('web/a', 1)
    const waiting = fake.read({ ...list, ownChanges: true }, { prefix: 'app/' }, { minIndex: 1 })
    await parked(fake, 1)
    fake.state.put('app/b', 1)
    t.same((await waiting).value, ['app/a', 'app/b'])
  },
)

t.test('a list whose past is forgotten answers rather than sleep through a change', async (t) => {
  const { read, state } = server()
  state.put('app/a', 1)
  state.put('web/a', 1)
  state.forgottenIndex = 2
  t.equal((await read(list, { prefix: 'app/' }, { minIndex: 1 })).index, 2)
})

t.test('what changes between the reading and the parking is not missed', async (t) => {
  const fake = server()
  fake.state.put('a', 1)
  // The last thing before parking: the change comes just after the view was taken.
  const view = fake.state.view.bind(fake.state)
  fake.state.view = () => {
    const taken = view()
    if (fake.state.appliedIndex === 1) fake.state.put('a', 2)
    return taken
  }
  const answer = await fake.read(get, { key: 'a' }, { minIndex: 1 })
  t.equal(answer.value, 2)
})

t.test('when the wait is over the unchanged result comes with its index', async (t) => {
  const { read, state } = server()
  state.put('a', 1)
  const answer = await read(get, { key: 'a' }, { minIndex: 1, waitMs: 20 })
  t.same([answer.value, answer.index], [1, 1])
  t.equal(state.parkedCount, 0)
})

t.test('an index from the future waits too, and ends with the real one', async (t) => {
  const { read, state } = server()
  state.put('a', 1)
  const answer = await read(get, { key: 'a' }, { minIndex: 1_000, waitMs: 20 })
  t.equal(answer.index, 1)
})

t.test('a caller who leaves frees its place', async (t) => {
  const fake = server()
  fake.state.put('a', 1)
  const abort = new AbortController()
  const waiting = fake.read(get, { key: 'a' }, { minIndex: 1 }, abort.signal)
  await parked(fake, 1)
  abort.abort()
  await t.rejects(waiting, { code: 'cancelled' })
  t.same([fake.dispatcher.parkedCount, fake.state.parkedCount], [0, 0])
})

t.test('beyond the bound no more may park', async (t) => {
  const fake = server({ parkedMax: 1 })
  fake.state.put('a', 1)
  const waiting = fake.read(get, { key: 'a' }, { minIndex: 1 })
  await parked(fake, 1)
  await t.rejects(fake.read(get, { key: 'a' }, { minIndex: 1 }), { code: 'overloaded' })
  fake.dispatcher.drain()
  t.equal((await waiting).value, 1, 'a drain answers those who wait')
  t.equal((await fake.read(get, { key: 'a' }, { minIndex: 1 })).value, 1, 'and lets none wait')
})

t.test('a thousand parked reads wake together', async (t) => {
  const fake = server()
  fake.state.put('a', 1)
  const waiting = Array.from({ length: 1_000 }, () => fake.read(get, { key: 'a' }, { minIndex: 1 }))
  await parked(fake, 1_000)
  fake.state.put('a', 2)
  t.ok((await Promise.all(waiting)).every((answer) => answer.value === 2))
  t.equal(fake.state.openViews, 0)
})

t.test('permission is asked for again after the sleep', async (t) => {
  let allowed = true
  const fake = fakeServer({
    methods: [get],
    authorizer: { resolve: () => ({ may: () => allowed }) },
  })
  fake.state.put('a', 1)
  const waiting = fake.dispatcher.query(get, { key: 'a' }, caller, {
    consistency: 'default',
    minIndex: 1,
    waitMs: 60_000,
  })
  await eventuallyTrue('one parked', () => fake.dispatcher.parkedCount === 1)
  allowed = false
  fake.state.put('a', 2)
  await t.rejects(waiting, { code: 'permission_denied' })
})

t.test('a value that streams keeps its view until it is closed', async (t) => {
  const { read, state } = server()
  state.put('a', 1)
  const answer = await read(stream, {})
  t.equal(state.openViews, 1)
  state.put('b', 1)
  const keys: string[] = []
  for await (const page of answer.value as AsyncIterable<readonly FakeRow[]>) {
    keys.push(...page.map((row) => row.key))
  }
  t.same(keys, ['a'], 'and shows the state it was read from')
  answer.close()
  answer.close()
  t.equal(state.openViews, 0)
})
