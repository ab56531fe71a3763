/** The connection for heartbeats alone, at its receiver and where there is none. */
import t from 'tap'
import { encodeFrame } from '../../../src/raft/transport/codec.ts'
import { lanePath } from '../../../src/raft/transport/heartbeat-lane.ts'
import type { Message } from '../../../src/raft/core/message.ts'
import { dial } from '../../../src/wire/dial.ts'
import type { WireStream } from '../../../src/wire/stream.ts'
import { until } from '../../wire/until.ts'
import { Node, roundsOf } from './node.ts'

const envelope = { from: 'a', to: 'b', term: 1, commitIndex: 0 } as const

function heartbeat(round: number): Message {
  return { type: 'heartbeat', ...envelope, round }
}

/** A lane of server `a` to server `b`, and why it ended. */
async function laneTo(a: Node, b: Node): Promise<{ stream: WireStream; closed: () => string }> {
  const target = { address: `127.0.0.1:${b.port}`, path: lanePath, to: b.id }
  const stream = await dial(a.wire, target)
  let closed = ''
  stream.start({
    onFrame: () => {},
    onDrain: () => {},
    onClose: (reason) => (closed = reason),
  })
  return { stream, closed: () => closed }
}

t.test('a message that is no heartbeat is refused, and ends the stream', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const others: readonly Message[] = [
    { type: 'appendRequest', ...envelope, round: 1, prevIndex: 0, prevTerm: 0, entries: [] },
    { type: 'heartbeatResponse', from: 'a', to: 'b', term: 1, round: 1 },
    { type: 'voteRequest', from: 'a', to: 'b', term: 1, lastIndex: 0, lastTerm: 0, transfer: true },
  ]
  for (const [at, message] of others.entries()) {
    const { stream, closed } = await laneTo(a, b)
    stream.write(encodeFrame([heartbeat(at), message, heartbeat(9)]))
    await until('it is ended', () => closed() !== '')
    t.match(closed(), `bad frame: ${message.type} is no heartbeat`)
    t.equal(b.wire.refusals.count('frame'), at + 1)
  }
  t.same(b.messages, [heartbeat(0), heartbeat(1), heartbeat(2)], 'what came before was heard')
  const { stream } = await laneTo(a, b)
  stream.write(encodeFrame([heartbeat(7)]))
  await until('the next stream is heard', () => b.messages.length === 4)
})

t.test('bytes that are no frame end the stream', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const { stream, closed } = await laneTo(a, b)
  stream.write(Buffer.from('nonsense'))
  await until('it is ended', () => closed() !== '')
  t.match(closed(), /bad frame/)
  t.same(b.messages, [])
})

t.test('a later stream of a server takes the place of the one before, alone', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b' }).start(t)
  const c = await new Node({ id: 'c' }).start(t)
  const other = await laneTo(c, b)
  const first = await laneTo(a, b)
  first.stream.write(encodeFrame([heartbeat(1)]))
  await until('the first is heard', () => b.messages.length === 1)
  const second = await laneTo(a, b)
  await until('the first is ended', () => first.closed() !== '')
  t.match(first.closed(), /a later stream of the same server took its place/)
  second.stream.write(encodeFrame([heartbeat(2)]))
  await until('the second is heard', () => b.messages.length === 2)
  t.same(roundsOf(b.messages), [1, 2])
  t.same([second.closed(), other.closed()], ['', ''])
  await b.transport.stop()
  await until('both end with their server', () => second.closed() !== '' && other.closed() !== '')
  t.match([second.closed(), other.closed()], [/this server stops/, /this server stops/])
})

t.test('heartbeats go on the main stream to a peer that refuses the path', async (t) => {
  const a = await new Node({ id: 'a' }).start(t)
  const b = await new Node({ id: 'b', withoutPath: lanePath }).start(t)
  await t.rejects(laneTo(a, b), 'an older server does not know it')
  a.peer(b)
  await until('connected', () => a.transport.connected('b'))
  // Longer than until the lane is dialled.
  const endMs = performance.now() + 1_500
  let sent = 0
  await until('it was refused, for some time', () => {
    sent += 1
    a.send('b', sent)
    return performance.now() >= endMs
  })
  const sentBefore = sent
  a.send('b', sent + 1, 200_000)
  a.send('b', sent + 2)
  await until('all are heard', () => b.messages.length === sentBefore + 2)
  const rounds = roundsOf(b.messages)
  t.same(
    rounds,
    [...rounds].sort((x, y) => x - y),
    'in their order',
  )
  t.same([a.connectedTo, a.gone], [['b'], []], 'that stream stands')
  t.equal(b.wire.refusals.count('frame'), 0)
})
