import t, { type Test } from 'tap'
import { MusterError } from '../../src/lib/errors.ts'
import { CallService } from '../../src/rpc/grpc.ts'
import { callsPath } from '../../src/rpc/link-client.ts'
import type { CallHandler, CallRequest } from '../../src/rpc/link.ts'
import { dial } from '../../src/wire/dial.ts'
import { Proxy } from '../wire/proxy.ts'
import { until } from '../wire/until.ts'
import { linkOf, requestOf, serverWith, wireOf } from './link-pair.ts'

t.test('a call carries its request whole and brings back its result', async (t) => {
  const { target } = await serverOf(t, async (request) => request)
  const link = linkOf(t)
  const args = {
    path: 'app/db',
    items: [['user', 'ada']],
    at: null,
    big: 2 ** 50,
    raw: Buffer.from('x'),
  }
  const request: CallRequest = { ...requestOf('variables.put', args), token: 'secret' }
  t.same(await link.call(target, request), request)
  const anonymous: CallRequest = { ...request, token: null }
  t.same(await link.call(target, anonymous), anonymous)
  t.equal(
    await link.call({ ...target, id: null }, requestOf('m', 1)).then(() => 'any id'),
    'any id',
  )
})

t.test(
  'what a leader was asked is settled soon after another leads, and nothing else',
  async (t) => {
    const { target } = await serverOf(t, ({ method, args }) =>
      method === 'silent' ? new Promise(() => undefined) : Promise.resolve(args),
    )
    const link = linkOf(t)
    const atLeader = { ...requestOf('silent', 1), atLeader: true as const }
    const asked = link.call(target, atLeader)
    const other = link.call(target, requestOf('silent', 2))
    let settled = 0
    for (const call of [asked, other]) void call.catch(() => (settled += 1))
    t.equal(await link.call(target, requestOf('echo', 3)), 3, 'both were sent before this')
    link.leaderIs('b')
    link.leaderIs('c')
    await t.rejects(asked, { code: 'outcome_unknown', message: /is not the leader any more/ })
    t.equal(settled, 1, 'what was not for the leader goes on')
  },
)

t.test('a former leader that lives has a while to answer what it was asked', async (t) => {
  const ends = new Map<string, (value: unknown) => void>()
  const { target } = await serverOf(
    t,
    ({ method }) => new Promise((resolve) => ends.set(method, resolve)),
  )
  const link = linkOf(t)
  const asked = ['first', 'second'].map((method) =>
    link.call(target, { ...requestOf(method, 1), atLeader: true as const }),
  )
  await until('both run', () => ends.size === 2)
  link.leaderIs('c')
  ends.get('first')?.('at once')
  t.equal(await asked[0], 'at once')
  // Longer than a server is given that says nothing.
  await new Promise((resolve) => setTimeout(resolve, 150))
  ends.get('second')?.('later')
  t.equal(await asked[1], 'later')
})

t.test('what was not sent to a former leader surely did nothing', async (t) => {
  const { port } = await serverOf(t, async () => 1)
  const proxy = new Proxy(port)
  const silent = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  proxy.blackHole(true)
  const link = linkOf(t, { connectTimeoutMs: 10_000 })
  const asked = link.call(silent, { ...requestOf('m', 1), atLeader: true as const })
  link.leaderIs(null)
  await t.rejects(asked, { code: 'unavailable', message: /is not the leader any more/ })
})

t.test('many calls share one connection and end in any order', async (t) => {
  const ends = new Map<number, (value: number) => void>()
  const { port } = await serverOf(
    t,
    ({ args }) => new Promise((end) => ends.set(Number(args), end)),
  )
  const proxy = new Proxy(port)
  const target = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  const link = linkOf(t)
  const order: number[] = []
  const calls = Array.from({ length: 100 }, async (_, n) => {
    order.push(Number(await link.call(target, requestOf('m', n))))
  })
  await until('all run', () => ends.size === 100)
  t.equal(proxy.connections, 1)
  for (const n of [...ends.keys()].toReversed()) ends.get(n)?.(n)
  await Promise.all(calls)
  t.same(order, [...ends.keys()].toReversed())
})

t.test('an error arrives with code, message and details; a defect without its text', async (t) => {
  const { target } = await serverOf(t, async ({ method }) => {
    if (method === 'defect') throw new TypeError('/etc/secret is not a function')
    throw new MusterError('conflict', 'the index is 7', { details: { index: 7 } })
  })
  const link = linkOf(t)
  const conflict = { code: 'conflict', message: 'the index is 7', details: { index: 7 } }
  await t.rejects(link.call(target, requestOf('m', 1)), conflict)
  const message = 'defect failed unexpectedly; the log of the server that ran it says why'
  await t.rejects(link.call(target, requestOf('defect', 1)), { code: 'internal', message })
})

t.test('what surely was not delivered is unavailable, and at once where it can be', async (t) => {
  const { target, port } = await serverOf(t, async () => 1)
  const link = linkOf(t, { connectTimeoutMs: 10_000 })
  const patient = { ...requestOf('m', 1), timeoutMs: 600_000 }
  const nobody = { address: '127.0.0.1:1', id: 'b' }
  const refused = { code: 'unavailable', message: /nothing listens at 127\.0\.0\.1:1/ }
  await Promise.all([1, 2, 3].map(() => t.rejects(link.call(nobody, patient), refused)))
  await t.rejects(link.call(nobody, patient), refused, 'again, without a dial')
  const stranger = link.call({ ...target, id: 'x' }, patient)
  await t.rejects(stranger, { code: 'unavailable', message: /wants to reach server x/ })

  const proxy = new Proxy(port)
  const silent = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  proxy.blackHole(true)
  const impatient = { ...patient, timeoutMs: 50 }
  await t.rejects(link.call(silent, impatient), {
    code: 'unavailable',
    message: /could not be sent to .* within 50 ms/,
  })
})

t.test('a connection that breaks under a call leaves its outcome unknown', async (t) => {
  const signals: AbortSignal[] = []
  const { port } = await serverOf(t, (_request, signal) => {
    signals.push(signal)
    return signals.length === 1 ? new Promise(() => {}) : Promise.resolve('answer')
  })
  const proxy = new Proxy(port)
  const target = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  const link = linkOf(t)
  const lost = link.call(target, requestOf('variables.put', 1))
  const rejected = t.rejects(lost, { code: 'outcome_unknown', message: /variables\.put was sent/ })
  await until('it runs', () => signals.length === 1)
  proxy.cut()
  await rejected
  await until('the handler is told', () => signals[0]?.aborted === true)
  t.equal(await link.call(target, requestOf('m', 1)), 'answer', 'the next call dials again')
})

t.test('the deadline travels: the handler is told, and the caller waits no longer', async (t) => {
  const seen: string[] = []
  const { target } = await serverOf(t, ({ method, timeoutMs }, signal) => {
    seen.push(`${method} ${timeoutMs}`)
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        seen.push(`${method} told`)
        if (method === 'tidy') reject(new MusterError('timeout', 'out of time'))
      })
    })
  })
  const link = linkOf(t)
  const within = (method: string) => ({ ...requestOf(method, 1), timeoutMs: 80 })
  await t.rejects(link.call(target, within('deaf')), { code: 'outcome_unknown' })
  await t.rejects(link.call(target, within('tidy')), { code: 'timeout', message: 'out of time' })
  t.same(seen, ['deaf 80', 'deaf told', 'tidy 80', 'tidy told'])
})

t.test('a deadline holds on a link that was at rest', async (t) => {
  const { target } = await serverOf(t, ({ method }) =>
    method === 'never' ? new Promise(() => {}) : Promise.resolve(1),
  )
  const link = linkOf(t, { idleMs: 3_600_000 })
  await link.call(target, requestOf('m', 1))
  await new Promise((resolve) => {
    setTimeout(resolve, 60)
  })
  const late = link.call(target, { ...requestOf('never', 1), timeoutMs: 50 })
  await t.rejects(late, { code: 'outcome_unknown' })
})

t.test('a caller that goes away cancels its call, sent or not', async (t) => {
  const signals: AbortSignal[] = []
  const { target } = await serverOf(t, (_request, signal) => {
    signals.push(signal)
    return new Promise(() => {})
  })
  const link = linkOf(t)
  const abort = new AbortController()
  const call = link.call(target, requestOf('m', 1), abort.signal)
  const rejected = t.rejects(call, { code: 'cancelled' })
  await until('it runs', () => signals.length === 1)
  abort.abort()
  await rejected
  await until('the handler is told', () => signals[0]?.aborted === true)
  await t.rejects(link.call(target, requestOf('m', 1), abort.signal), { code: 'cancelled' })
  const soon = new AbortController()
  const unsent = t.rejects(link.call(target, requestOf('m', 1), soon.signal), { code: 'cancelled' })
  soon.abort()
  await unsent
  t.equal(signals.length, 1, 'what was cancelled before it left is never run')
})

t.test('calls are bounded in number and in bytes', async (t) => {
  let running = 0
  const { target } = await serverOf(t, ({ args }) => {
    running += 1
    if (args === 'large') return Promise.resolve(Buffer.alloc(20 * 1024 * 1024))
    return new Promise(() => {})
  })
  const link = linkOf(t, { callsMax: 3 })
  const first = [1, 2, 3].map((n) => link.call(target, requestOf('m', n)).catch(() => {}))
  await until('three run', () => running === 3)
  await t.rejects(link.call(target, requestOf('m', 4)), { code: 'overloaded' })
  await link.stop()
  await Promise.all(first)

  const narrow = linkOf(t, { callBytesMax: 10_000 })
  const overloaded = narrow.call(target, requestOf('m', 'x'.repeat(20_000)))
  await t.rejects(overloaded, { code: 'overloaded' })
  const wide = linkOf(t)
  const huge = wide.call(target, requestOf('m', Buffer.alloc(20 * 1024 * 1024)))
  await t.rejects(huge, { code: 'too_large', message: /the arguments of m take/ })
  const answer = wide.call(target, requestOf('m', 'large'))
  await t.rejects(answer, { code: 'too_large', message: /the result of m takes/ })
})

t.test('large calls pass while small ones go by', async (t) => {
  const { target } = await serverOf(t, async ({ args }) => args)
  const link = linkOf(t)
  const large = Array.from({ length: 8 }, (_, n) =>
    link.call(target, requestOf('m', Buffer.alloc(3 * 1024 * 1024, n))),
  )
  const small = Array.from({ length: 50 }, (_, n) => link.call(target, requestOf('m', n)))
  t.same(
    await Promise.all(small),
    small.map((_, n) => n),
  )
  for (const [n, bytes] of (await Promise.all(large)).entries()) {
    t.ok(Buffer.isBuffer(bytes) && bytes.equals(Buffer.alloc(3 * 1024 * 1024, n)))
  }
})

t.test('a link that is not used closes itself and opens again', async (t) => {
  const { port } = await serverOf(t, async ({ args }) => args)
  const proxy = new Proxy(port)
  const target = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  const link = linkOf(t, { idleMs: 50 })
  t.equal(await link.call(target, requestOf('m', 1)), 1)
  t.equal(proxy.connections, 1)
  await until('it is closed', () => proxy.connections === 0)
  t.equal(await link.call(target, requestOf('m', 2)), 2)
})

t.test(
  'a link that is kept open connects before the first call and is not closed when idle',
  async (t) => {
    const { port } = await serverOf(t, async ({ args }) => args)
    const proxy = new Proxy(port)
    const target = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
    t.teardown(() => proxy.close())
    const idleMs = 30
    const link = linkOf(t, { idleMs })
    link.keepOpen([target])
    await until('it is connected', () => proxy.connections === 1)
    const brief = linkOf(t, { idleMs })
    const other = new Proxy(port)
    t.teardown(() => other.close())
    await brief.call({ address: `127.0.0.1:${await other.listen()}`, id: 'b' }, requestOf('m', 1))
    await until('one that is not kept is closed', () => other.connections === 0)
    t.equal(proxy.connections, 1)
    t.equal(await link.call(target, requestOf('m', 2)), 2)
    link.keepOpen([])
    await until('it is closed once it is not kept any more', () => proxy.connections === 0)
  },
)

t.test('a kept link that was lost is dialed again when it is asked for', async (t) => {
  const { port } = await serverOf(t, async ({ args }) => args)
  const proxy = new Proxy(port)
  const target = { address: `127.0.0.1:${await proxy.listen()}`, id: 'b' }
  t.teardown(() => proxy.close())
  const link = linkOf(t)
  link.keepOpen([target])
  await until('it is connected', () => proxy.connections === 1)
  proxy.cut()
  await until('it is lost', () => proxy.connections === 0)
  link.keepOpen([target])
  await until('it is connected again', () => proxy.connections === 1)
})

t.test('stopping settles what is under way, on either side', async (t) => {
  const signals: AbortSignal[] = []
  const never: CallHandler = (_request, signal) => {
    signals.push(signal)
    return new Promise(() => {})
  }
  const { target, server } = await serverOf(t, never)
  const link = linkOf(t)
  const first = t.rejects(link.call(target, requestOf('m', 1)), { code: 'outcome_unknown' })
  await until('it runs', () => signals.length === 1)
  await server.stop()
  await first
  t.ok(signals[0]?.aborted)

  const other = await serverOf(t, never)
  const second = t.rejects(link.call(other.target, requestOf('m', 1)), { code: 'outcome_unknown' })
  await until('it runs', () => signals.length === 2)
  await link.stop()
  await second
  await t.rejects(link.call(target, requestOf('m', 1)), { code: 'unavailable' })
  await until('the handler is told', () => signals[1]?.aborted === true)
})

t.test('bad frames end that stream only', async (t) => {
  const { target } = await serverOf(t, async ({ args }) => args)
  const link = linkOf(t)
  t.equal(await link.call(target, requestOf('m', 1)), 1)
  const wire = wireOf('evil')
  const stream = await dial(wire, { address: target.address, path: callsPath, to: 'b' })
  let closed = ''
  stream.start({
    onFrame: () => {},
    onDrain: () => {},
    onClose: (reason) => {
      closed = reason
    },
  })
  stream.write(Buffer.from('nonsense'))
  await until('it is ended', () => closed !== '')
  t.match(closed, /bad frame/)
  t.equal(await link.call(target, requestOf('m', 2)), 2)
})

function serverOf(t: Test, handler: CallHandler) {
  return serverWith(t, (wire) => new CallService({ wire, handler }))
}
