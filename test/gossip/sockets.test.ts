/** The transport contract, on sockets and on the fake in memory; then what only sockets have. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { systemClock, type Clock } from '../../src/lib/clock.ts'
import { codeOf, textOf } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import type { Endpoint, PushPull } from '../../src/gossip/core/message.ts'
import { MemoryNetwork } from './memory-transport.ts'
import { bindSockets, type SocketTransport } from '../../src/gossip/sockets.ts'
import {
  streamsMax,
  streamTimeoutMs,
  type GossipTransport,
  type StreamAnswer,
  type StreamRequest,
  type TransportHandlers,
} from '../../src/gossip/transport.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { keyring, wires, type Wires } from './wire/wires.ts'

/** A clock whose timers run when the test says so; the system's for short ones. */
class PatientClock implements Clock {
  readonly #long = new Set<() => void>()

  get pending(): number {
    return this.#long.size
  }

  monotonicMs(): number {
    return systemClock.monotonicMs()
  }

  wallMs(): number {
    return systemClock.wallMs()
  }

  setTimer(delayMs: number, run: () => void): { cancel(): void } {
    if (delayMs < streamTimeoutMs) return systemClock.setTimer(delayMs, run)
    const timer = (): void => {
      this.#long.delete(timer)
      run()
    }
    this.#long.add(timer)
    return { cancel: () => this.#long.delete(timer) }
  }

  /** All deadlines pass; returns how many there were. */
  expire(): number {
    const due = [...this.#long]
    for (const timer of due) timer()
    return due.length
  }
}

class Recorder implements TransportHandlers {
  readonly packets: { readonly text: string; readonly from: Endpoint }[] = []
  readonly requests: StreamRequest[] = []
  answer: (request: StreamRequest) => StreamAnswer | null = () => null

  onPacket(packet: Uint8Array, from: Endpoint): void {
    this.packets.push({ text: Buffer.from(packet).toString(), from })
  }

  onStream(request: StreamRequest): StreamAnswer | null {
    this.requests.push(request)
    return this.answer(request)
  }
}

type Pair = {
  readonly clock: PatientClock
  readonly a: GossipTransport
  readonly b: GossipTransport
  readonly heardA: Recorder
  readonly heardB: Recorder
  /** Where nobody listens. */
  readonly nowhere: Endpoint
}

const versions = {
  protocolMin: 1,
  protocolMax: 5,
  protocolCurrent: 2,
  delegateMin: 2,
  delegateMax: 5,
  delegateCurrent: 5,
}

function state(count: number, join: boolean): PushPull {
  const nodes = Array.from({ length: count }, (_, index) => ({
    name: `node-${index}`,
    endpoint: { address: Uint8Array.of(10, 0, index >> 8, index & 255), port: 4648 },
    meta: new Uint8Array(20).fill(index),
    incarnation: index,
    state: 'alive' as const,
    versions,
  }))
  return { type: 'push-pull', nodes, userState: new Uint8Array(5000).fill(count), join }
}

async function rejection(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    return codeOf(error)
  }
}

const host = '127.0.0.1'

function onSockets(wire: Wires, clock: Clock): Promise<SocketTransport> {
  return bindSockets({ host, port: 0, wire: wire.streams, clock, logger: silentLogger })
}

async function socketPair(t: Test, of: readonly [Wires, Wires]): Promise<Pair> {
  const clock = new PatientClock()
  const [a, b, closed] = [
    await onSockets(of[0], clock),
    await onSockets(of[1], clock),
    await onSockets(wires(), clock),
  ]
  await closed.close()
  return started(t, { clock, a, b, nowhere: closed.endpoint })
}

function memoryPair(t: Test, of: readonly [Wires, Wires]): Promise<Pair> {
  const clock = new PatientClock()
  const network = new MemoryNetwork(clock)
  const at = (last: number): Endpoint => ({ address: Uint8Array.of(10, 0, 0, last), port: 4648 })
  const a = network.listen(at(1), of[0].streams)
  const b = network.listen(at(2), of[1].streams)
  return Promise.resolve(started(t, { clock, a, b, nowhere: at(3) }))
}

function started(t: Test, parts: Omit<Pair, 'heardA' | 'heardB'>): Pair {
  const [heardA, heardB] = [new Recorder(), new Recorder()]
  parts.a.start(heardA)
  parts.b.start(heardB)
  t.teardown(async () => {
    await Promise.all([parts.a.close(), parts.b.close()])
  })
  return { ...parts, heardA, heardB }
}

const carriers = [
  ['sockets', socketPair],
  ['memory', memoryPair],
] as const

for (const [carrier, pairOf] of carriers) {
  await t.test(`${carrier}: a packet comes with the endpoint it is answered at`, async (t) => {
    const { a, b, heardA, heardB } = await pairOf(t, [wires(), wires()])
    a.sendPacket(b.endpoint, Buffer.from('one'))
    const first = await eventually('the packet', () => heardB.packets[0])
    t.equal(first.text, 'one')
    t.same(first.from, a.endpoint)
    b.sendPacket(first.from, Buffer.from('two'))
    t.equal((await eventually('the answer', () => heardA.packets[0])).text, 'two')
  })

  await t.test(`${carrier}: a push/pull goes both ways, plain and encrypted`, async (t) => {
    for (const options of [{}, { keyring: keyring(1), label: 'blue' }]) {
      const pair = await pairOf(t, [wires(options), wires(options)])
      pair.heardB.answer = () => state(300, false)
      t.same(await pair.a.pushPull(pair.b.endpoint, state(3, true)), state(300, false))
      t.same(pair.heardB.requests, [state(3, true)])
    }
  })

  await t.test(`${carrier}: a ping is answered by the ack of its number only`, async (t) => {
    const { a, b, heardB } = await pairOf(t, [wires(), wires()])
    const ping = { type: 'ping', sequence: 7, node: 'b', source: null } as const
    heardB.answer = (request) =>
      request.type === 'ping' ? { type: 'ack', sequence: request.sequence, payload: null } : null
    t.same(await a.ping(b.endpoint, ping), { type: 'ack', sequence: 7, payload: null })
    heardB.answer = () => ({ type: 'ack', sequence: 8, payload: null })
    t.equal(await rejection(a.ping(b.endpoint, ping)), 'incompatible')
    heardB.answer = () => state(1, false)
    t.equal(await rejection(a.ping(b.endpoint, ping)), 'incompatible')
    heardB.answer = () => null
    t.equal(await rejection(a.ping(b.endpoint, ping)), 'unavailable')
    heardB.answer = () => ({ type: 'error', text: 'not now' })
    t.equal(await rejection(a.ping(b.endpoint, ping)), 'conflict')
  })

  await t.test(`${carrier}: another key or label is refused and counted`, async (t) => {
    const rows = [
      [{ keyring: keyring(1) }, { keyring: keyring(2) }, 'incompatible', 'wrong-key'],
      [{ keyring: keyring(1) }, {}, 'incompatible', 'wrong-key'],
      [{}, { keyring: keyring(1) }, 'incompatible', 'plain'],
      [{ label: 'blue' }, { label: 'green' }, 'unavailable', 'wrong-label'],
    ] as const
    for (const [ours, theirs, code, reason] of rows) {
      const server = wires(theirs)
      const { a, b, heardB } = await pairOf(t, [wires(ours), server])
      heardB.answer = () => state(1, false)
      t.equal(await rejection(a.pushPull(b.endpoint, state(1, true))), code, reason)
      t.equal(server.counters.streams.refused[reason], 1, reason)
      t.same(heardB.requests, [])
    }
  })

  await t.test(`${carrier}: where nobody listens, a stream is unavailable at once`, async (t) => {
    const { a, nowhere } = await pairOf(t, [wires(), wires()])
    t.equal(await rejection(a.pushPull(nowhere, state(1, true))), 'unavailable')
    a.sendPacket(nowhere, Buffer.from('lost'))
  })

  await t.test(
    `${carrier}: nothing arrives after it is closed, and waiting calls end`,
    async (t) => {
      const { a, b, heardA, heardB, clock } = await pairOf(t, [wires(), wires()])
      heardB.answer = () => {
        // Closed while the answer is on its way.
        void a.close()
        return state(1, false)
      }
      t.equal(await rejection(a.pushPull(b.endpoint, state(1, true))), 'cancelled')
      b.sendPacket(a.endpoint, Buffer.from('late'))
      await a.close()
      t.same(heardA.packets, [])
      t.not(await rejection(a.pushPull(b.endpoint, state(1, true))), 'none')
      t.not(await rejection(b.pushPull(a.endpoint, state(1, true))), 'none')
      await eventuallyTrue('no deadline is left', () => clock.pending === 0)
    },
  )
}

await t.test('memory: what is lost on one path arrives on the other', async (t) => {
  const clock = new PatientClock()
  const network = new MemoryNetwork(clock)
  const at = (last: number): Endpoint => ({ address: Uint8Array.of(10, 0, 0, last), port: 4648 })
  const [a, b] = [network.listen(at(1), wires().streams), network.listen(at(2), wires().streams)]
  const heard = new Recorder()
  a.start(new Recorder())
  b.start(heard)
  heard.answer = () => state(1, false)
  network.lost = (_from, _to, path) => path === 'packet'
  a.sendPacket(at(2), Buffer.from('lost'))
  t.same(await a.pushPull(at(2), state(1, true)), state(1, false))
  t.same(heard.packets, [])
  network.lost = () => true
  const lost = rejection(a.pushPull(at(2), state(1, true)))
  t.equal(clock.expire(), 1)
  t.equal(await lost, 'timeout')
  await Promise.all([a.close(), b.close()])
})

async function opened(to: Endpoint, localAddress = host): Promise<Socket> {
  const socket = connect({ host, port: to.port, localAddress })
  socket.on('error', () => {
    // A reset is as good an end as any here.
  })
  await once(socket, 'connect')
  return socket
}

await t.test('sockets: a user message of another program arrives unanswered', async (t) => {
  const { b, heardB } = await socketPair(t, [wires(), wires()])
  const message = { type: 'user', bytes: new Uint8Array(300_000).fill(7) } as const
  const socket = await opened(b.endpoint)
  socket.end(wires().streams.encode(message, 'request'))
  const request = await eventually('the message', () => heardB.requests[0])
  t.same(request, message)
  const answer: unknown[] = await socket.toArray()
  t.same(answer, [])
})

await t.test('sockets: a port in use by either protocol is refused with its number', async (t) => {
  const wire = wires()
  const held = await onSockets(wire, systemClock)
  const { port } = held.endpoint
  try {
    const options = { host, port, wire: wire.streams, clock: systemClock, logger: silentLogger }
    await bindSockets(options)
    t.fail('one port is bound twice')
  } catch (error) {
    t.equal(codeOf(error), 'unavailable')
    t.match(textOf(error), String(port))
  }
  await held.close()
  const again = { host, port, wire: wire.streams, clock: systemClock, logger: silentLogger }
  const second = await bindSockets(again)
  t.same(second.endpoint, held.endpoint, 'and is free after close')
  await second.close()
  t.equal(await rejection(bindSockets({ ...again, host: 'localhost' })), 'invalid_argument')
})

await t.test('sockets: a stream that says nothing ends at its deadline, both ways', async (t) => {
  const { a, b, clock } = await socketPair(t, [wires(), wires()])
  const silent = await opened(b.endpoint)
  const mute = createServer((socket) => socket.resume())
  mute.listen(0, host)
  await once(mute, 'listening')
  const address = mute.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const asked = rejection(
    a.pushPull({ address: Uint8Array.of(127, 0, 0, 1), port: address.port }, state(1, true)),
  )
  silent.resume()
  await eventuallyTrue('the silent one is closed', () => {
    clock.expire()
    return silent.closed
  })
  t.equal(await asked, 'timeout')
  const ping = { type: 'ping', sequence: 1, node: 'b', source: null } as const
  const muteEndpoint = { address: Uint8Array.of(127, 0, 0, 1), port: address.port }
  t.equal(await rejection(a.ping(muteEndpoint, ping, 30)), 'timeout', 'a shorter one')
  mute.close()
})

await t.test(
  'sockets: 128 streams are open at once, and those that say nothing keep nobody out',
  async (t) => {
    const { b, heardB, a } = await socketPair(t, [wires(), wires()])
    const sockets = b as SocketTransport
    heardB.answer = () => state(1, false)
    const idle = await Promise.all(Array.from({ length: streamsMax }, () => opened(b.endpoint)))
    await eventuallyTrue('all are taken', () => sockets.streamStats.accepted === streamsMax)
    t.same(await a.pushPull(b.endpoint, state(1, true)), state(1, false), 'a member is answered')
    t.equal(sockets.streamStats.turnedAway, 1)
    await eventuallyTrue('an idle one is closed', () => idle.some((socket) => socket.closed))
    t.equal(idle.filter((socket) => socket.closed).length, 1)
    for (const socket of idle) socket.destroy()
  },
)

await t.test('sockets: of many members that talk none is cut off for another', async (t) => {
  const { b, heardB, a } = await socketPair(t, [wires(), wires()])
  const sockets = b as SocketTransport
  heardB.answer = () => state(1, false)
  const request = wires().streams.encode(state(1, true), 'request')
  const members = await Promise.all(
    Array.from({ length: streamsMax }, (_, at) => opened(b.endpoint, `127.0.1.${at + 1}`)),
  )
  for (const socket of members) socket.write(request.subarray(0, 10))
  await eventuallyTrue('all are taken', () => sockets.streamStats.accepted === streamsMax)
  t.equal(await rejection(a.pushPull(b.endpoint, state(1, true))), 'unavailable')
  t.equal(sockets.streamStats.turnedAway, 1)
  const answers = members.map(async (socket) => {
    let bytes = 0
    socket.on('data', (chunk) => (bytes += chunk.length))
    socket.end(request.subarray(10))
    await once(socket, 'close')
    return bytes > 0
  })
  t.ok((await Promise.all(answers)).every(Boolean), 'all are answered')
})

await t.test('sockets: one address that says little keeps no other out', async (t) => {
  const { b, heardB, a } = await socketPair(t, [wires(), wires()])
  heardB.answer = () => state(1, false)
  const sockets = b as SocketTransport
  const request = wires().streams.encode(state(1, true), 'request')
  const slow = await Promise.all(
    Array.from({ length: streamsMax }, () => opened(b.endpoint, '127.0.1.1')),
  )
  for (const socket of slow) socket.write(request.subarray(0, 10))
  await eventuallyTrue('all are taken', () => sockets.streamStats.accepted === streamsMax)
  t.same(await a.pushPull(b.endpoint, state(1, true)), state(1, false), 'a member is answered')
  await eventuallyTrue('one is closed', () => slow.some((socket) => socket.closed))
  t.equal(slow.filter((socket) => socket.closed).length, 1)
  for (const socket of slow) socket.destroy()
})

await t.test(
  'sockets: all streams together hold 64 MiB, whoever brings more is refused',
  async (t) => {
    const server = wires()
    const { b } = await socketPair(t, [wires(), server])
    const announced = 20 * 1024 * 1024
    const head = Buffer.concat([
      Buffer.from([8, 0x81, 0xaa]),
      Buffer.from('UserMsgLen'),
      Buffer.from([0xce, announced >> 24, (announced >> 16) & 255, 0, 0]),
    ])
    const most = Buffer.alloc(17 * 1024 * 1024)
    const sockets = await Promise.all(Array.from({ length: 4 }, () => opened(b.endpoint)))
    for (const socket of sockets) {
      socket.resume()
      socket.write(head)
      socket.write(most)
    }
    const { refused } = server.counters.streams
    await eventuallyTrue('a refusal', () => refused['too-large'] > 0)
    t.equal(refused['too-large'], 1)
    for (const socket of sockets) socket.destroy()
  },
)

await t.test('sockets: rubbish, resets and half-closed streams leave the rest alone', async (t) => {
  const server = wires()
  const { a, b, heardB } = await socketPair(t, [wires(), server])
  heardB.answer = () => state(1, false)
  const { streams } = wires()
  const request = streams.encode(state(2, true), 'request')

  const rubbish = await opened(b.endpoint)
  const said: Buffer[] = []
  rubbish.on('data', (chunk) => said.push(chunk))
  rubbish.write(Buffer.alloc(100_000, 0x63))
  await once(rubbish, 'end')
  rubbish.destroy()
  const read = streams.decoder('answer').feed(Buffer.concat(said))
  t.match(read, { message: { type: 'error', text: 'refused: broken' } })

  const cut = await opened(b.endpoint)
  cut.end(request.subarray(0, 50))
  await once(cut.resume(), 'close')
  const reset = await opened(b.endpoint)
  reset.write(request.subarray(0, 50))
  reset.resetAndDestroy()

  const halfClosed = await opened(b.endpoint)
  const answer: Buffer[] = []
  halfClosed.on('data', (chunk) => answer.push(chunk))
  halfClosed.end(request)
  await once(halfClosed, 'close')
  t.match(streams.decoder('answer').feed(Buffer.concat(answer)), { type: 'message' })

  heardB.answer = () => {
    throw new Error('a defect of the driver')
  }
  t.equal(await rejection(a.pushPull(b.endpoint, state(1, true))), 'unavailable')
  heardB.answer = () => state(5, false)
  t.same(await a.pushPull(b.endpoint, state(1, true)), state(5, false))
  await eventuallyTrue('the reset one, too', () => server.counters.streams.refused.broken === 3)
})

await t.test('sockets: an endpoint that no socket takes is an error counted', async (t) => {
  const { a } = await socketPair(t, [wires(), wires()])
  const sockets = a as SocketTransport
  const bad = { address: Uint8Array.of(127, 0, 0, 1), port: 0 }
  a.sendPacket(bad, Buffer.from('x'))
  a.sendPacket({ address: new Uint8Array(16), port: 1 }, Buffer.from('x'))
  a.sendPacket({ ...bad, port: 9 }, Buffer.alloc(70_000))
  await eventuallyTrue('all three', () => sockets.packetStats.sendErrors === 3)
  t.equal(await rejection(a.pushPull(bad, state(1, true))), 'invalid_argument')
})
