/** Calls whose result is a stream of items, between two ends on real sockets, and through the dispatcher. */
import { Type } from 'typebox'
import t, { type Test } from 'tap'
import { codeOf, MusterError } from '../../src/lib/errors.ts'
import { endable } from '../../src/rpc/stream-lifetime.ts'
import { streamPath, streamWindowBytes } from '../../src/rpc/link-stream-codec.ts'
import { StreamService } from '../../src/rpc/link-stream-server.ts'
import type { StreamHandler } from '../../src/rpc/link.ts'
import { defineLocalMethod, defineStreamMethod } from '../../src/rpc/method.ts'
import { dial } from '../../src/wire/dial.ts'
import { freePorts } from '../support/free-ports.ts'
import { fakeServer } from '../support/rpc-fakes.ts'
import { Proxy } from '../wire/proxy.ts'
import { until } from '../wire/until.ts'
import { linkOf, requestOf, serverWith, wireOf } from './link-pair.ts'

const never = new AbortController().signal

async function* countTo(end: number): AsyncGenerator<number> {
  for (let n = 1; n <= end; n++) yield n
}

/** Yields nothing, and ends when it is told to. */
async function* quiet(signal: AbortSignal): AsyncGenerator<number> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve())
  })
  yield* []
}

async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const item of items) seen.push(item)
  return seen
}

t.test('items arrive whole and in order, whatever they are', async (t) => {
  const { target } = await serverOf(t, async ({ args }) =>
    (async function* echo() {
      yield args
      yield Buffer.from('bytes')
      yield* countTo(1_000)
      yield { at: null, list: [['a', 1]] }
    })(),
  )
  const link = linkOf(t)
  const seen = await all(await link.stream(target, requestOf('m', { path: 'app' }), never))
  t.equal(seen.length, 1_003)
  t.same(seen.slice(0, 4), [{ path: 'app' }, Buffer.from('bytes'), 1, 2])
  t.same(seen.at(-1), { at: null, list: [['a', 1]] })
})

t.test('a refusal rejects the opening, a failure comes after the items before it', async (t) => {
  const { target } = await serverOf(t, async ({ method }) => {
    if (method === 'refused')
      throw new MusterError('permission_denied', 'no', { details: { a: 1 } })
    return (async function* fails() {
      yield* countTo(2)
      if (method === 'defect') throw new TypeError('/etc/secret is not a function')
      throw new MusterError('conflict', 'the table was replaced')
    })()
  })
  const link = linkOf(t)
  await t.rejects(link.stream(target, requestOf('refused', 1), never), {
    code: 'permission_denied',
    message: 'no',
    details: { a: 1 },
  })
  const items = await link.stream(target, requestOf('m', 1), never)
  t.same([(await items.next()).value, (await items.next()).value], [1, 2])
  await t.rejects(items.next(), { code: 'conflict', message: 'the table was replaced' })
  t.same(await items.next(), { value: undefined, done: true })
  const message = 'defect failed unexpectedly; the log of the server that ran it says why'
  const defect = await link.stream(target, requestOf('defect', 1), never)
  await t.rejects(all(defect), { code: 'internal', message })
})

t.test('a reader that stands still stops its source within the window', async (t) => {
  const itemBytes = 1_000
  let made = 0
  async function* endless() {
    for (;;) {
      made += 1
      yield Buffer.alloc(itemBytes)
    }
  }
  const { target } = await serverOf(t, async ({ method }) =>
    method === 'endless' ? endless() : countTo(1),
  )
  const link = linkOf(t)
  const items = await link.stream(target, requestOf('endless', 1), never)
  await until('the window is full', () => made * itemBytes > streamWindowBytes * 0.8)
  t.same(await all(await link.stream(target, requestOf('m', 1), never)), [1])
  t.ok(made * itemBytes <= streamWindowBytes + itemBytes, `${made} items were made`)
  const before = made
  for (let n = 0; n < 2 * before; n++) await items.next()
  await until('it goes on', () => made > 2 * before)
  await items.return?.()
})

t.test('a reader that goes away ends the source, by return or by signal', async (t) => {
  const signals: AbortSignal[] = []
  const { target } = await serverOf(t, async (_request, signal) => {
    signals.push(signal)
    return quiet(signal)
  })
  const link = linkOf(t)
  const returned = await link.stream(target, requestOf('m', 1), never)
  const pending = returned.next()
  await returned.return?.()
  t.same(await pending, { value: undefined, done: true })
  await until('the source is told', () => signals[0]?.aborted === true)

  const abort = new AbortController()
  const aborted = await link.stream(target, requestOf('m', 1), abort.signal)
  const waiting = all(aborted)
  abort.abort()
  t.same(await waiting, [])
  await until('the source is told', () => signals[1]?.aborted === true)
  await t.rejects(link.stream(target, requestOf('m', 1), abort.signal), { code: 'cancelled' })
})

t.test('a broken connection and a server that stops are told from an end', async (t) => {
  const { port, server } = await serverOf(t, async (_request, signal) => quiet(signal))
  const proxy = new Proxy(port)
  const target = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  const link = linkOf(t)
  const cut = await link.stream(target, requestOf('m', 1), never)
  const broken = t.rejects(all(cut), { code: 'unavailable', message: /was lost during m/ })
  proxy.cut()
  await broken
  const direct = { address: `127.0.0.1:${port}`, id: 'b' }
  const stopped = all(await link.stream(direct, requestOf('m', 1), never))
  const failed = t.rejects(stopped, { code: 'unavailable' })
  await server.stop()
  await failed
  await t.rejects(link.stream(direct, requestOf('m', 1), never), { code: 'unavailable' })
})

t.test('what is not taken in time is a timeout', async (t) => {
  const { target } = await serverOf(t, () => new Promise(() => {}))
  const slow = linkOf(t).stream(target, { ...requestOf('m', 1), timeoutMs: 60 }, never)
  await t.rejects(slow, { code: 'timeout', message: /was not taken by .* within 60 ms/ })
})

t.test('bad frames end that stream only', async (t) => {
  const { target } = await serverOf(t, async () => countTo(1))
  for (const bytes of [Buffer.from('nonsense'), Buffer.alloc(0)]) {
    const wire = wireOf('evil')
    const stream = await dial(wire, { address: target.address, path: streamPath, to: 'b' })
    let closed = ''
    stream.start({
      onFrame: () => {},
      onDrain: () => {},
      onClose: (reason) => {
        closed = reason
      },
    })
    stream.write(bytes)
    await until('it is ended', () => closed !== '')
    t.match(closed, /bad frame/)
  }
  t.same(await all(await linkOf(t).stream(target, requestOf('m', 1), never)), [1])
})

t.test('an end is noticed once, also when nobody ever read', async (t) => {
  let ends = 0
  const open = (stop: AbortController) =>
    endable({ open: quiet, signal: never, stop, onEnd: () => void (ends += 1) })
  const unread = await open(new AbortController())
  await unread.return?.()
  await unread.return?.()
  t.equal(ends, 1)
  const stop = new AbortController()
  const stopped = all(await open(stop))
  stop.abort()
  t.same(await stopped, [])
  t.equal(ends, 2)
})

const count = defineStreamMethod({
  kind: 'stream',
  name: 'test.count',
  args: Type.Object({ to: Type.Integer() }),
  requires: () => ({ resource: 'agent', access: 'read' }),
  open: (context, { to }) => (to < 0 ? quiet(context.signal) : countTo(to)),
})
const whoami = defineLocalMethod({
  kind: 'local',
  name: 'test.whoami',
  args: Type.Object({}),
  requires: () => ({ resource: 'none' }),
  run: async () => 'a',
})
t.test('one stream more than a server reads of others is refused', async (t) => {
  const streamsMax = 1_024
  const [port = 0] = await freePorts(1)
  const nobody = { address: `127.0.0.1:${port}`, id: 'b' }
  const link = linkOf(t)
  const open = () => link.stream(nobody, requestOf('m', 1), never)
  // Each is one from the moment it is asked for.
  const opened = await Promise.allSettled(Array.from({ length: streamsMax + 1 }, open))
  const codes = opened.map((one) => (one.status === 'rejected' ? codeOf(one.reason) : ''))
  t.same(new Set(codes.slice(0, streamsMax)), new Set(['unavailable']), 'nobody listens there')
  t.equal(codes[streamsMax], 'overloaded')
  await t.rejects(open(), { code: 'unavailable' }, 'those that ended make room')
})

const caller = { token: null, remote: '127.0.0.1', requestId: 'r' }

t.test('a method runs at the server that is named', async (t) => {
  const { dispatcher, link, consensus } = fakeServer({ methods: [count, whoami] })
  link.handlers.set('b:1', async () => 'b')
  link.streamHandlers.set('b:1', async () => countTo(2))
  const ask = (at: string | null) => dispatcher.call(whoami, {}, caller, { at })
  t.same(
    [await ask(null), await ask('a'), await ask('id-a'), await ask('leader')],
    'aaaa'.split(''),
  )
  t.equal(await ask('b'), 'b')
  consensus.elect({ id: 'id-b', name: 'b', address: 'b:1', term: 1 })
  t.equal(await ask('leader'), 'b')
  await t.rejects(ask('x'), {
    code: 'invalid_argument',
    message: 'there is no server "x": name one of a, b, c, leader',
  })
  const open = (at: string | null) => dispatcher.open(count, { to: 3 }, caller, { at })
  t.same(await all(await open(null)), [1, 2, 3])
  t.same(await all(await open('b')), [1, 2])
  await t.rejects(open('c'), { code: 'unavailable' })
  t.equal(link.calls.at(-1)?.requestId, 'r')
  const { signal } = new AbortController()
  const asked = { ...caller, args: { to: 1 }, timeoutMs: 1_000 }
  const refused = { code: 'invalid_argument' }
  await t.rejects(dispatcher.handleForwarded({ ...asked, method: 'test.count' }, signal), refused)
  await t.rejects(dispatcher.handleStream({ ...asked, method: 'test.whoami' }, signal), refused)
})

t.test('without a leader, `leader` waits and says so', async (t) => {
  const { dispatcher, consensus } = fakeServer({ methods: [whoami], limits: { noLeaderMs: 50 } })
  consensus.elect(null)
  const asked = dispatcher.call(whoami, {}, caller, { at: 'leader' })
  await t.rejects(asked, { code: 'no_leader', message: /no cluster leader after 50 ms/ })
})

t.test('streams are authorized, counted, and end when the server drains', async (t) => {
  const denied = fakeServer({
    methods: [count],
    authorizer: { resolve: () => ({ may: () => false }) },
  })
  const refused = { code: 'permission_denied' }
  await t.rejects(denied.dispatcher.open(count, { to: 1 }, caller), refused)
  const request = { ...requestOf('test.count', { to: 1 }) }
  await t.rejects(denied.dispatcher.handleStream(request, never), refused)

  const { dispatcher } = fakeServer({ methods: [count], limits: { streamsMax: 1 } })
  const first = await dispatcher.open(count, { to: -1 }, caller)
  const second = dispatcher.open(count, { to: 1 }, caller)
  await t.rejects(second, { code: 'overloaded' })
  const reading = all(first)
  dispatcher.drain()
  t.same(await reading, [])
  await t.rejects(dispatcher.open(count, { to: 1 }, caller), { code: 'unavailable' })
})

function serverOf(t: Test, handler: StreamHandler) {
  return serverWith(t, (wire) => new StreamService({ wire, handler }))
}
