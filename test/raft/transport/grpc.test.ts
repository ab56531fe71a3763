import t from 'tap'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import { encodeFrame } from '../../../src/raft/transport/codec.ts'
import { streamPath } from '../../../src/raft/transport/outbound.ts'
import { dial } from '../../../src/wire/dial.ts'
import { freePorts } from '../../support/free-ports.ts'
import { Proxy } from '../../wire/proxy.ts'
import { until } from '../../wire/until.ts'
import { Node, roundsOf } from './node.ts'

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

t.test('messages arrive in order, small and large mixed, and answers come back', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  a.peer(a, b)
  b.peer(a, b)
  await until('both connected', () => a.transport.connected('b') && b.transport.connected('a'))
  t.same(a.connectedTo, ['b'], 'and not to itself')
  for (const n of upTo(300)) a.send('b', n, n % 10 === 0 ? 200_000 : 0)
  await until('all are there', () => b.messages.length === 300)
  t.same(roundsOf(b.messages), upTo(300))
  t.match(b.messages[5], { type: 'heartbeat', from: 'a', to: 'b', term: 1 })
  b.send('a', 7)
  await until('the answer is there', () => a.messages.length === 1)
  t.same(roundsOf(a.messages), [7])
})

t.test('a server that is nobody yet answers its leader on the leader’s own stream', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b', clusterId: '' }).start(t)
  a.peer(b)
  b.onMessage = (message) => {
    b.messages.push(message)
    b.send(message.from, 9)
  }
  a.send('b', 1)
  await until('the answer is there', () => a.messages.length === 1)
  t.match(a.messages, [{ type: 'heartbeat', from: 'b', to: 'a', round: 9 }])
})

t.test('a peer that comes by itself is dialled without waiting for the next turn', async (t) => {
  const [port = 0] = await freePorts(1)
  let waits = 0
  const standing: Clock = {
    ...systemClock,
    setTimer: (ms) => {
      if (ms <= backoffMaxMs) waits += 1
      return { cancel: () => undefined }
    },
  }
  const backoffMaxMs = 200
  const a = await new Node({ id: 'a', clock: standing, backoffMaxMs }).start(t)
  a.peer({ id: 'b', port })
  await until('a was refused, and waits for a time that does not come', () => waits > 0)
  const b = await new Node({ id: 'b', port }).start(t)
  t.notOk(a.transport.connected('b'))
  b.peer(a)
  await until('both connected', () => a.transport.connected('b') && b.transport.connected('a'))
})

t.test('a stopped process is gone; a cut connection is not', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const c = await new Node({ id: 'c' }).start(t)
  const proxy = new Proxy(c.port)
  const port = await proxy.listen()
  t.teardown(() => proxy.close())
  a.peer(b, { id: 'c', port })
  await until('connected', () => a.transport.connected('b') && a.transport.connected('c'))
  const before = a.connectedTo.length
  proxy.cut()
  await until('c is connected again', () => a.connectedTo.length > before)
  await b.stop()
  await until('b is gone', () => a.gone.length > 0)
  t.same(a.gone, ['b'])
  const again = await new Node({ id: 'b', port: b.port }).start(t)
  await until('b is connected again', () => a.transport.connected('b'))
  a.send('b', 3)
  await until('it hears', () => again.messages.length === 1)
})

t.test('a process that resets who comes while it dies is gone as well', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const listener = new Proxy(b.port)
  const port = await listener.listen()
  a.peer({ id: 'b', port })
  await until('connected', () => a.transport.connected('b'))
  const before = listener.accepted
  await b.stop()
  await until('it was turned away', () => listener.accepted > before)
  t.same(a.gone, [], 'something listens there')
  await listener.close()
  await until('b is gone', () => a.gone.length > 0)
  t.same(a.gone, ['b'])
})

t.test('another cluster, and another server on a recycled address, hear nothing', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const foreign = await new Node({ id: 'b', clusterId: 'c2' }).start(t)
  const recycled = await new Node({ id: 'x' }).start(t)
  a.peer(foreign, { id: 'c', port: recycled.port })
  for (const n of upTo(20)) {
    a.send('b', n)
    a.send('c', n)
  }
  await t.rejects(
    dial(a.wire, { address: `127.0.0.1:${recycled.port}`, path: streamPath, to: 'c' }),
    /wants to reach server c at this address, but this is server x/,
  )
  t.same([foreign.messages, recycled.messages], [[], []])
  t.same(a.connectedTo, [])
  t.same(a.gone, [])
})

t.test('what waits for a peer is bounded, and the newest is dropped', async (t) => {
  const a = await new Node({ id: 'a', queueBytesMax: 10_000, windowBytes: 5_000 }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  a.peer(b)
  for (const n of upTo(100)) a.send('b', n, 1_000)
  await until('what was kept is there', () => b.messages.length >= 9)
  const rounds = roundsOf(b.messages)
  t.same(rounds, upTo(rounds.length), 'the oldest, without a hole')
  t.ok(rounds.length <= 10)
  const first = rounds.length
  a.send('b', 100)
  await until('the queue takes again', () => b.messages.length > first)
})

t.test('a frame that takes long is no silence, and heartbeats pass it', async (t) => {
  const a = await new Node({ id: 'a', halfOpenMs: 800 }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const proxy = new Proxy(b.port)
  const port = await proxy.listen()
  t.teardown(() => proxy.close())
  a.peer({ id: 'b', port })
  await until('connected, for heartbeats as well', () => proxy.accepted === 2)
  a.send('b', 1)
  await until('a heartbeat is there', () => b.messages.length === 1)
  proxy.slow(100_000)
  a.send('b', 2, 300_000)
  for (const round of [3, 4]) {
    await until('a heartbeat passes', () => {
      a.send('b', round)
      return roundsOf(b.messages).includes(round)
    })
  }
  t.notOk(roundsOf(b.messages).includes(2), 'the entries are on their way')
  await until('they are there', () => roundsOf(b.messages).includes(2))
  t.equal(proxy.accepted, 2, 'on the connection that they began on')
})

t.test('a connection that swallows everything is given up and dialled again', async (t) => {
  const a = await new Node({ id: 'a', halfOpenMs: 200 }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const proxy = new Proxy(b.port)
  const port = await proxy.listen()
  t.teardown(() => proxy.close())
  a.peer({ id: 'b', port })
  await until('connected', () => a.transport.connected('b'))
  proxy.blackHole(true)
  a.send('b', 1)
  await until('given up', () => !a.transport.connected('b'))
  t.same(a.gone, [], 'silence is not death')
  proxy.blackHole(false)
  await until('connected again', () => a.transport.connected('b'))
  a.send('b', 2)
  await until('it hears', () => roundsOf(b.messages).includes(2))
  await until('no socket is left behind', () => proxy.connections === 1)
})

t.test('bad frames end that stream only', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  a.peer(b)
  await until('connected', () => a.transport.connected('b'))
  const evil = new Node({ id: 'e' })
  const target = { address: `127.0.0.1:${b.port}`, path: streamPath, to: 'b' }
  const wrongIndex = { index: 5, term: 1, kind: 'noop', data: Buffer.alloc(0) } as const
  const badAppend = encodeFrame([
    {
      type: 'appendRequest',
      from: 'e',
      to: 'b',
      term: 1,
      prevIndex: 1,
      prevTerm: 1,
      commitIndex: 0,
      round: 1,
      entries: [wrongIndex],
    },
  ])
  for (const bytes of [Buffer.from('nonsense'), badAppend]) {
    const stream = await dial(evil.wire, target)
    let closed = ''
    stream.start({
      onFrame: () => {},
      onDrain: () => {},
      onClose: (reason) => {
        closed = reason
      },
    })
    stream.write(bytes)
    await until('the stream is ended', () => closed !== '')
    t.match(closed, /bad frame/)
  }
  t.equal(b.wire.refusals.count('frame'), 2)
  a.send('b', 4)
  await until('the others are heard', () => b.messages.length === 1)
})

t.test('peers come and go', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const c = await new Node({ id: 'c' }).start(t)
  a.peer(b)
  a.peer(b, c)
  await until('connected', () => a.transport.connected('b') && a.transport.connected('c'))
  t.same(a.connectedTo.toSorted(), ['b', 'c'])
  a.peer(b)
  t.equal(a.transport.connected('c'), false)
  a.send('c', 1)
  a.send('b', 2)
  await until('b hears', () => b.messages.length === 1)
  t.same(c.messages, [])
  t.equal(a.connectedTo.length, 2, 'the connection to b was kept')
})
