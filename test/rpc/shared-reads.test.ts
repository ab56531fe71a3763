/** Blocking queries that are equal are run once, and only callers with the very same rights are equal. */
import t, { type Test } from 'tap'
import Type from 'typebox'
import { textOf } from '../../src/lib/errors.ts'
import type { Authorizer } from '../../src/rpc/authorizer.ts'
import { defineQuery, type Caller } from '../../src/rpc/method.ts'
import { mustMay } from '../../src/rpc/refusal.ts'
import { deadlinesEveryMs } from '../../src/rpc/parking.ts'
import { lingerMs } from '../../src/rpc/shared-reads.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { fakeServer, fakeTable } from '../support/rpc-fakes.ts'

const callerOf = (token: string | null): Caller => ({ token, remote: '10.0.0.1', requestId: 'r' })
const none = () => ({ resource: 'none' }) as const

/** Beyond what any test here causes: a reader that runs without end would stop the whole process. */
const runsMax = 100

/** Keys that the caller may read; notes each run. */
function listing(runs: string[]) {
  return defineQuery({
    kind: 'query',
    name: 'rows.list',
    long: true,
    args: Type.Object({ prefix: Type.String() }),
    requires: none,
    async query(reader, { prefix }, context) {
      runs.push(prefix)
      if (runs.length > runsMax) throw new Error('it is run again and again')
      const rows: string[] = []
      for await (const page of reader.pages(fakeTable, { startsWith: prefix })) {
        for (const { key } of page) {
          const needed = { resource: 'key', namespace: 'default', key, access: 'read' } as const
          if (context.may(needed)) rows.push(key)
        }
      }
      return { value: rows, index: reader.tableIndex(fakeTable as never) }
    },
  })
}

const whoAsks = defineQuery({
  kind: 'query',
  name: 'who.asks',
  args: Type.Object({}),
  requires: none,
  query: (reader, _args, { caller }) => ({
    value: caller.token,
    index: reader.get(fakeTable, ['a'])?.index ?? 1,
  }),
})

/** Tokens begin with the name of their rights, which is the beginning of the keys they may read. */
function authorizer(): Authorizer {
  const rights = new Map<string, object>()
  return {
    resolve({ token }) {
      const name = token?.split(':')[0] ?? ''
      const own = rights.get(name) ?? {}
      rights.set(name, own)
      return {
        rights: own,
        may: (needed) => needed.resource !== 'key' || needed.key.includes(name),
      }
    },
    touch: (reader, { token }) => void reader.get(fakeTable, [`token ${token}`]),
  }
}

function server(t: Test, options: Parameters<typeof fakeServer>[0] = {}) {
  const runs: string[] = []
  const list = listing(runs)
  const fake = fakeServer({ methods: [list, whoAsks], ...options })
  t.teardown(() => fake.dispatcher.drain())
  const read = (
    token: string | null,
    minIndex: number,
    {
      prefix = 'app/',
      shape = 'json',
      waitMs = 60_000,
      signal = new AbortController().signal,
    } = {},
  ) =>
    fake.dispatcher.query(
      list,
      { prefix },
      callerOf(token),
      { consistency: 'default', minIndex, waitMs },
      { shape, signal },
    )
  const parked = (count: number) =>
    eventuallyTrue(`${count} parked`, () => fake.dispatcher.parkedCount === count)
  return { ...fake, read, runs, parked }
}

t.test('a thousand equal blocking reads are run once for each change', async (t) => {
  const { state, read, runs, parked } = server(t)
  state.put('app/a', 1)
  const waiting = Array.from({ length: 1_000 }, () => read(null, 1))
  await parked(1_000)
  t.equal(state.parkedCount, 1, 'the state knows them as one reader')
  t.equal(runs.length, 1, 'one looked for all')
  const index = state.put('app/b', 2)
  const answers = await Promise.all(waiting)
  t.equal(runs.length, 2)
  t.ok(answers.every((answer) => answer.index === index && answer.shared === answers[0]?.shared))
  const again = answers.map(() => read(null, index))
  await parked(1_000)
  t.equal(runs.length, 2, 'who comes back with what it was told waits without a run')
  state.put('app/c', 3)
  for (const answer of [...answers, ...(await Promise.all(again))]) answer.close()
  t.equal(state.openViews, 0)
})

t.test('another prefix, another form, other rights: another answer', async (t) => {
  const { state, read, runs, parked } = server(t, { authorizer: authorizer() })
  for (const key of ['app/red', 'app/blue', 'web/red']) state.put(key, 1)
  const waiting = [
    read('red:1', 3),
    read('red:2', 3),
    read('blue:1', 3),
    read('red:1', 3, { prefix: 'web/' }),
    read('red:1', 3, { shape: 'pretty' }),
  ]
  await parked(5)
  runs.length = 0
  state.put('app/red and blue', 1)
  state.put('web/red more', 1)
  const [first, second, other, elsewhere, pretty] = await Promise.all(waiting)
  t.same(first?.value, ['app/red', 'app/red and blue'])
  t.equal(second?.shared, first?.shared, 'two tokens of the same rights share one')
  t.same(
    other?.value,
    ['app/blue', 'app/red and blue'],
    'a token is shown what its own rights show',
  )
  t.same(elsewhere?.value, ['web/red', 'web/red more'])
  t.not(pretty?.shared, first?.shared)
  t.same(runs.toSorted(), ['app/', 'app/', 'app/', 'web/'])
})

t.test('whose rights nobody can compare shares with nobody', async (t) => {
  const { state, read, runs, parked } = server(t, {
    authorizer: { resolve: () => ({ may: () => true }) },
  })
  state.put('app/a', 1)
  const waiting = [read(null, 1), read(null, 1)]
  await parked(2)
  state.put('app/b', 1)
  const answers = await Promise.all(waiting)
  t.same(
    answers.map(({ shared }) => shared),
    [null, null],
  )
  t.equal(runs.length, 4)
})

t.test('an answer that depends on who asks is given to nobody else', async (t) => {
  const { state, dispatcher, parked } = server(t)
  state.put('a', 1)
  const ask = (token: string) =>
    dispatcher.query(
      whoAsks,
      {},
      callerOf(token),
      { consistency: 'default', minIndex: 1, waitMs: 60_000 },
      { shape: '' },
    )
  const waiting = ['one', 'two', 'three'].map(ask)
  await parked(3)
  state.put('a', 2)
  t.same(
    (await Promise.all(waiting)).map(({ value }) => value),
    ['one', 'two', 'three'],
  )
})

t.test('a refusal names the token that it refuses, and no other of the same rights', async (t) => {
  const guarded = defineQuery({
    kind: 'query',
    name: 'guarded',
    args: Type.Object({}),
    requires: none,
    async query(_reader, _args, context) {
      await Promise.resolve()
      mustMay(context, { resource: 'key', namespace: 'default', key: 'x', access: 'read' })
      return { value: null, index: 1 }
    },
  })
  const rights = {}
  const { dispatcher } = server(t, {
    methods: [guarded],
    authorizer: {
      resolve: ({ token }) => ({
        rights,
        accessor: `of ${token}`,
        may: ({ resource }) => resource === 'none',
        missing: () => `'key:read'`,
      }),
    },
  })
  const names = ['one', 'two', 'three']
  const ended = await Promise.allSettled(
    names.map((token) =>
      dispatcher.query(
        guarded,
        {},
        callerOf(token),
        { consistency: 'default', minIndex: 1, waitMs: 60_000 },
        { shape: '' },
      ),
    ),
  )
  t.same(
    ended.map((end) => (end.status === 'rejected' ? textOf(end.reason) : 'no refusal')),
    names.map(
      (name) => `Permission denied: token with AccessorID 'of ${name}' lacks permission 'key:read'`,
    ),
  )
})

t.test('a change of one token’s rights wakes its reads and no others', async (t) => {
  const { state, read, parked, consensus } = server(t, { authorizer: authorizer() })
  state.put('app/red', 1)
  const ends = [new AbortController(), new AbortController()]
  const waiting = ['red:1', 'red:2'].map((token, at) =>
    read(token, 1, { signal: ends[at]?.signal ?? new AbortController().signal }),
  )
  await parked(2)
  t.equal(state.parkedCount, 2, 'each waits for its own token too')
  const views = state.viewsOpened
  state.put('token red:2', 'another policy')
  await new Promise(setImmediate)
  await parked(2)
  t.equal(
    state.viewsOpened - views,
    1,
    'one looked at what its rights follow from, and waits again',
  )
  t.ok(consensus.barriers.length > 0)
  for (const end of ends) end.abort()
  for (const one of waiting) await t.rejects(one, { code: 'cancelled' })
})

t.test('reads of one group end when their own time is up', async (t) => {
  const clock = manualClock()
  const { state, read, parked } = server(t, { clock })
  state.put('app/a', 1)
  const [short, long] = [read(null, 1, { waitMs: 100 }), read(null, 1, { waitMs: 5_000 })]
  await parked(2)
  clock.advance(100)
  t.equal((await short).index, 1)
  await parked(1)
  clock.advance(5_000 + deadlinesEveryMs)
  t.equal((await long).index, 1)
  await parked(0)
})

t.test('a result that nobody takes is given up, and its view closed', async (t) => {
  const clock = manualClock()
  const { state, read, runs } = server(t, { clock })
  state.put('app/a', 1)
  for (let n = 0; n < 3; n += 1) (await read(null, 0)).close()
  t.equal(runs.length, 2, 'the first read runs for itself, the next ones of the same state share')
  clock.advance(lingerMs + 1)
  clock.advance(lingerMs + 1)
  ;(await read(null, 0)).close()
  ;(await read(null, 0)).close()
  t.equal(runs.length, 4)
  t.equal(state.openViews, 0)
})

t.test('a drain answers reads whose result was given up, by one run for all', async (t) => {
  const clock = manualClock()
  const { state, read, runs, parked, dispatcher } = server(t, { clock })
  state.put('app/a', 1)
  const waiting = Array.from({ length: 5 }, () => read(null, 1))
  await parked(5)
  t.equal(runs.length, 1)
  clock.advance(2 * lingerMs)
  dispatcher.drain()
  for (const answer of await Promise.all(waiting)) {
    t.same(answer.value, ['app/a'])
    answer.close()
  }
  t.equal(runs.length, 2)
  t.equal(state.openViews, 0)
})

t.test('a plain read is never given what an older state showed', async (t) => {
  const { state, read } = server(t)
  state.put('app/a', 1)
  for (let n = 0; n < 3; n += 1) t.same((await read(null, 0)).value, ['app/a'])
  state.put('app/b', 1)
  t.same((await read(null, 0)).value, ['app/a', 'app/b'])
  const index = state.put('else', 1)
  t.equal((await read(null, 0)).index, index, 'nor its index')
})
