/** The uplink: calls and streams both ways over one connection of messages, and what a hostile agent gets for its messages. */
import t, { type Test } from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger } from '../../src/lib/log.ts'
import { encodeStreamFrame } from '../../src/rpc/link-stream-codec.ts'
import { decodeCalls, encodeCalls, encodeValue, type CallFrame } from '../../src/rpc/link-codec.ts'
import type { CallHandler, StreamHandler } from '../../src/rpc/link.ts'
import {
  pieceBytesMax,
  type MessageHandlers,
  type MessageSocket,
} from '../../src/rpc/uplink-channels.ts'
import { Uplink, UplinkHost } from '../../src/rpc/uplink.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { requestOf } from './link-pair.ts'

const never = new AbortController().signal

/** Two ends of one connection in memory: each message arrives in a turn of its own. */
class End implements MessageSocket {
  other: End | null = null
  handlers: MessageHandlers | null = null
  closedBy: string | null = null
  pauses = 0
  /** What came while it is paused. */
  #kept: Buffer[] | null = null

  start(handlers: MessageHandlers): void {
    this.handlers = handlers
  }

  send(message: Uint8Array): boolean {
    const copy = Buffer.from(message)
    setImmediate(() => this.other?.deliver(copy))
    return true
  }

  deliver(message: Buffer): void {
    if (this.#kept === null) this.handlers?.onMessage(message)
    else this.#kept.push(message)
  }

  pause(): void {
    this.pauses += 1
    this.#kept ??= []
  }

  resume(): void {
    const kept = this.#kept ?? []
    this.#kept = null
    for (const message of kept) this.deliver(message)
  }

  close(reason: string): void {
    this.closedBy = reason
    setImmediate(() => this.other?.handlers?.onClose(reason))
  }
}

type Side = { readonly onCall?: CallHandler; readonly onStream?: StreamHandler }

const nothing = () => Promise.reject(new MusterError('not_found', 'nothing here'))

function pair(t: Test, { agent = {}, server = {} }: { agent?: Side; server?: Side } = {}) {
  const ends = { agent: new End(), server: new End() }
  ends.agent.other = ends.server
  ends.server.other = ends.agent
  const closed: string[] = []
  const host = new UplinkHost(systemClock, silentLogger)
  const make = (side: 'agent' | 'server', { onCall = nothing, onStream = nothing }: Side) =>
    new Uplink(ends[side], {
      host,
      side,
      peer: 'the other',
      onCall,
      onStream,
      onClose: (reason) => closed.push(`${side}: ${reason}`),
    })
  const made = { agent: make('agent', agent), server: make('server', server) }
  t.teardown(() => made.agent.close('the test is over'))
  return { ...made, ends, closed, host }
}

async function* countTo(end: number): AsyncGenerator<number> {
  for (let n = 1; n <= end; n++) yield n
}

t.test('both sides call, and get results and refusals', async (t) => {
  const echo: CallHandler = async ({ method, args, token }) => {
    if (method === 'no') throw new MusterError('permission_denied', 'you may not')
    return { method, args, token }
  }
  const { agent, server } = pair(t, { agent: { onCall: echo }, server: { onCall: echo } })
  const asked = await Promise.all([
    agent.call(requestOf('up', { a: 1 })),
    server.call(requestOf('down', [1, 2])),
  ])
  t.match(asked, [
    { method: 'up', args: { a: 1 } },
    { method: 'down', args: [1, 2] },
  ])
  await t.rejects(agent.call(requestOf('no', {})), { code: 'permission_denied' })
  const late = agent.call({ ...requestOf('up', {}), timeoutMs: 20_000 })
  agent.close('over')
  await t.rejects(late, { code: 'unavailable' })
  await t.rejects(agent.call(requestOf('up', {})), { code: 'unavailable' })
})

t.test('a long answer crosses in pieces, a longer one is refused', async (t) => {
  const onCall: CallHandler = async ({ args }) => Buffer.alloc(Number(args), 7)
  const { server } = pair(t, { agent: { onCall } })
  const long = (await server.call(requestOf('bytes', 4 * pieceBytesMax + 1))) as Buffer
  t.equal(long.length, 4 * pieceBytesMax + 1)
  await t.rejects(server.call(requestOf('bytes', 7 * 1024 * 1024)), { code: 'too_large' })
})

t.test('a call that is given up is cancelled at the other side', async (t) => {
  let aborted = false
  const onCall: CallHandler = async (_request, signal) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    aborted = true
    return null
  }
  const { server } = pair(t, { agent: { onCall } })
  const stop = new AbortController()
  const called = server.call(requestOf('waits', {}), stop.signal)
  setImmediate(() => setImmediate(() => setImmediate(() => setImmediate(() => stop.abort()))))
  await t.rejects(called, { code: 'cancelled' })
  await eventuallyTrue('the other side heard', () => aborted)
})

t.test('a stream comes at the pace of its reader, and many at once', async (t) => {
  let made = 0
  const onStream: StreamHandler = async ({ args }) =>
    (async function* slow() {
      for await (const n of countTo(Number(args))) {
        made += 1
        yield Buffer.alloc(16 * 1024, n)
      }
    })()
  const { server } = pair(t, { agent: { onStream } })
  const stream = await server.stream(requestOf('log', 1_000), never)
  await stream.next()
  await eventuallyTrue('the window is full', () => made > 14)
  t.ok(made < 40, `a reader that stands still holds the source up: ${made}`)
  const other = await server.stream(requestOf('log', 3), never)
  let count = 0
  for await (const _ of other) count += 1
  t.equal(count, 3, 'another stream goes on meanwhile')
  await stream.return?.()
})

t.test('a side that opens too many streams is told, and the uplink stands', async (t) => {
  const onStream: StreamHandler = async (_request, signal) =>
    (async function* quiet() {
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
      yield* []
    })()
  const { server } = pair(t, { agent: { onStream, onCall: async () => 'here' } })
  const open = await Promise.all(
    Array.from({ length: 64 }, () => server.stream(requestOf('log', {}), never)),
  )
  await t.rejects(server.stream(requestOf('log', {}), never), { code: 'overloaded' })
  t.equal(await server.call(requestOf('up', {})), 'here')
  await open[0]?.return?.()
  const next = await server.stream(requestOf('log', {}), never)
  await next.return?.()
})

t.test('the first message that cannot be true ends the uplink, and the log names it', async (t) => {
  const head = (type: number, channel: number, rest: Uint8Array = Buffer.alloc(0)) => {
    const bytes = Buffer.alloc(5 + rest.length)
    bytes.writeUInt8(type, 0)
    bytes.writeUInt32BE(channel, 1)
    bytes.set(rest, 5)
    return bytes
  }
  const calls = Buffer.of(0)
  const cases: [what: string, messages: Buffer[], reason: RegExp][] = [
    ['a fragment of a message', [Buffer.of(1)], /a message has 1 bytes/],
    ['a channel that nobody opened', [head(2, 9)], /channel 9, which nobody opened/],
    ['a channel of the server', [head(2, 2)], /channel 2, which nobody opened/],
    ['a channel opened for the server', [head(1, 4, calls)], /channel 4 cannot be opened/],
    ['a channel opened twice', [head(1, 1, calls), head(1, 1, calls)], /channel 1 cannot/],
    ['a channel of no kind', [head(1, 1, Buffer.of(7))], /channel 1 cannot be opened/],
    ['two channels of calls', [head(1, 1, calls), head(1, 3, calls)], /one channel of calls/],
    ['an unknown type', [head(1, 1, calls), head(9, 1)], /unknown type 9/],
    [
      'an endless frame',
      [
        head(1, 1, calls),
        ...Array.from({ length: 5 }, () => head(3, 1, Buffer.alloc(pieceBytesMax))),
      ],
      /a frame takes over 1048576 bytes/,
    ],
    ['a piece of nothing', [head(1, 1, calls), head(3, 1)], /a piece has 0 bytes instead of/],
    [
      'a flood',
      [head(1, 1, calls), ...Array.from({ length: 2_000 }, () => head(4, 1))],
      /over 128 messages a second/,
    ],
  ]
  for (const [what, messages, reason] of cases) {
    const { ends, server, host } = pair(t)
    for (const message of messages) ends.agent.send(message)
    await eventuallyTrue(what, () => !server.open)
    t.match(ends.server.closedBy, reason, what)
    t.equal(host.refusedCount, 1, `${what} is counted`)
  }
})

/** An agent that answers the first call of the server with these bytes. */
function answering(t: Test, answer: (id: number) => Partial<CallFrame>) {
  const { server, ends, host } = pair(t)
  ends.agent.handlers = {
    ...ends.agent.handlers,
    onMessage: (message: Buffer) => {
      if (message.readUInt8(0) !== 2) return
      const [request] = decodeCalls(message.subarray(5)).requests
      if (request === undefined) return
      const frame = encodeCalls(answer(request.id))
      ends.agent.send(Buffer.concat([message.subarray(0, 5), frame]))
    },
  } as MessageHandlers
  return { server, host }
}

t.test(
  'what comes on a stream that was asked for is not counted, but read at a pace',
  async (t) => {
    const onStream: StreamHandler = async ({ args }) =>
      (async function* lines() {
        for await (const n of countTo(Number(args))) yield `line ${n}`
      })()
    const { agent, server, ends } = pair(t, {
      agent: { onStream, onCall: async () => 'here' },
      server: { onCall: async () => 'lives' },
    })
    const other = await server.stream(requestOf('log', 2), never)
    const startMs = Date.now()
    let count = 0
    for await (const _ of await server.stream(requestOf('log', 12_000), never)) {
      count += 1
      if (count === 6_000) t.equal(await agent.call(requestOf('heartbeat', {})), 'lives')
    }
    t.equal(count, 12_000)
    t.ok(Date.now() - startMs > 1_000, 'tiny messages are read at a pace')
    t.ok(ends.server.pauses > 0)
    t.equal(await server.call(requestOf('up', {})), 'here', 'the uplink stands')
    t.match(await other.next(), { value: 'line 1' }, 'and so does the other stream')
  },
)

t.test('a flood on a stream is late for so long, and then counts', async (t) => {
  const { server, ends } = pair(t)
  const opened = server.stream(requestOf('log', {}), never)
  const message = (type: number, body: Uint8Array = Buffer.alloc(0)) =>
    Buffer.concat([Buffer.of(type, 0, 0, 0, 2), body])
  ends.agent.handlers = null
  ends.agent.send(message(2, encodeStreamFrame({ accepted: true })))
  const stream = await opened
  for (let n = 0; n < 10_000; n += 1) ends.server.handlers?.onMessage(message(2))
  t.equal(server.open, true, 'empty frames on an open stream')
  await stream.return?.()
  for (let n = 0; n < 5_000; n += 1) ends.server.handlers?.onMessage(message(2))
  t.equal(server.open, true, 'what may have been on its way')
  for (let n = 0; n < 200; n += 1) ends.server.handlers?.onMessage(message(2))
  t.equal(server.open, false)
  t.match(ends.server.closedBy, /over 128 messages a second/)
})

t.test('after its end a stream of the agent counts at once', async (t) => {
  const { server, ends } = pair(t)
  const opened = server.stream(requestOf('log', {}), never)
  opened.catch(() => {})
  for (let n = 0; n < 1_100; n += 1) {
    ends.server.handlers?.onMessage(Buffer.of(4, 0, 0, 0, 2))
  }
  await t.rejects(opened, { code: 'unavailable' })
  t.equal(server.open, false)
})

t.test('answers of an agent are plain data, or none', async (t) => {
  // An integer of 200,000 bytes, which takes its square to be read.
  const head = Buffer.alloc(6)
  head.writeUInt8(0xc9)
  head.writeUInt32BE(200_000, 1)
  head.writeUInt8(0x42, 5)
  const endless = Buffer.concat([Buffer.of(1), head, Buffer.alloc(200_000, 7)])
  const { server } = answering(t, (id) => ({ responses: [{ id, result: endless }] }))
  const refusal = { code: 'outcome_unknown', message: /no msgpack of plain data/ }
  await t.rejects(server.call(requestOf('down', {})), refusal)
  const error = { code: 'conflict', message: 'e'.repeat(20_000), details: endless }
  const failing = answering(t, (id) => ({ responses: [{ id, error }] }))
  await t.rejects(failing.server.call(requestOf('down', {})), refusal)
  const details = Buffer.alloc(0)
  const wordy = answering(t, (id) => ({ responses: [{ id, error: { ...error, details } }] }))
  await t.rejects(wordy.server.call(requestOf('down', {})), { message: 'e'.repeat(8_192) })
})

t.test('answers to calls that were not made end the channel, and are counted', async (t) => {
  const result = encodeValue('true')
  const { server, host } = answering(t, (id) => ({ responses: [{ id: id + 1, result }] }))
  await t.rejects(server.call(requestOf('down', {})), { code: 'outcome_unknown' })
  t.equal(host.refusedCount, 1)
})

t.test('an item of a stream that is no plain data ends it', async (t) => {
  const { server, ends } = pair(t)
  const opened = server.stream(requestOf('log', {}), never)
  const frame = (body: Parameters<typeof encodeStreamFrame>[0]) => {
    const head = Buffer.from('0200000002', 'hex')
    ends.server.handlers?.onMessage(Buffer.concat([head, encodeStreamFrame(body)]))
  }
  frame({ accepted: true })
  const stream = await opened
  frame({ items: [Buffer.of(1, 0xd4, 0x72, 0x40), encodeValue('more')] })
  await t.rejects(stream.next(), { code: 'incompatible' })
  t.match(await stream.next(), { done: true })
})

t.test('an item that waits does not keep the frame around it', async (t) => {
  const { server, ends } = pair(t)
  const opened = server.stream(requestOf('log', {}), never)
  const frame = (bytes: Buffer) => {
    const message = Buffer.alloc(5 + bytes.length)
    message.writeUInt8(2, 0)
    message.writeUInt32BE(2, 1)
    bytes.copy(message, 5)
    ends.server.handlers?.onMessage(message)
  }
  frame(encodeStreamFrame({ accepted: true }))
  const stream = await opened
  // A field that the codec does not know, with 200 KiB in it.
  const padding = Buffer.alloc(200 * 1024)
  const unknown = Buffer.concat([Buffer.of(0xfa, 0x3f, 0x80, 0xc0, 0x0c), padding])
  const keeps = async (): Promise<number> => {
    const { value } = (await stream.next()) as { value: Uint8Array }
    return value.buffer.byteLength
  }
  frame(Buffer.concat([encodeStreamFrame({ items: [encodeValue(Buffer.alloc(9))] }), unknown]))
  t.ok((await keeps()) <= Buffer.poolSize)
})

t.test('an agent that sends beyond its credit loses the stream', async (t) => {
  const { server, ends } = pair(t)
  const opened = server.stream(requestOf('log', {}), never)
  const frame = (body: Parameters<typeof encodeStreamFrame>[0]) => {
    const bytes = encodeStreamFrame(body)
    const message = Buffer.alloc(5 + bytes.length)
    message.writeUInt8(2, 0)
    message.writeUInt32BE(2, 1)
    bytes.copy(message, 5)
    ends.server.handlers?.onMessage(message)
  }
  frame({ accepted: true })
  const stream = await opened
  for (let n = 0; n < 40; n += 1) frame({ items: [encodeValue(Buffer.alloc(16 * 1024))] })
  await t.rejects(
    (async () => {
      for await (const _ of stream) void _
    })(),
    { code: 'corrupt', message: /beyond its credit/ },
  )
})
