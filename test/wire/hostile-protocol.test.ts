/**
 * Somebody who speaks the protocol of the servers and lies: ids of other servers, messages that cannot be true, frames of a
 * million parts, calls whose answers nobody reads. A lie ends its own stream. FUZZ_PACKETS, FUZZ_SEED.
 */
import t, { type Test } from 'tap'
import { encodeValue } from '../../src/rpc/link-codec.ts'
import type { WireMessage } from '../../src/raft/transport/codec.ts'
import { dial } from '../../src/wire/dial.ts'
import { wireType } from '../../src/wire/protocol.ts'
import type { WireStream } from '../../src/wire/stream.ts'
import { Wire } from '../../src/wire/wire.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { seed } from '../support/randomness.ts'
import { integer, mutated, noise, pick } from '../support/fuzz.ts'
import { heapBytes } from '../support/heap.ts'
import { inputsWanted, number } from './hostile/randomness.ts'
import { Attacker, message, open, preface, settings } from './hostile/http2.ts'
import { paths, Target } from './hostile/target.ts'

t.comment(`FUZZ_SEED=${seed}`)
t.teardown(() => t.comment(`FUZZ_SEED=${seed}`))

const mebibyte = 1024 * 1024
const raftFrames = wireType<{ messages: readonly unknown[] }>('muster.raft.RaftFrame')
const snapshotFrames = wireType<object>('muster.raft.SnapshotFrame')
const callFrames = wireType<object>('muster.server.CallFrame')
const streamFrames = wireType<object>('muster.server.StreamFrame')
const openings = wireType<object>('muster.wire.Opening')

/** `from`: whom it says it is. Nothing that comes back is read unless `hears`. */
async function speak(target: Target, path: string, from = 'a', hears = true): Promise<WireStream> {
  const wire = new Wire({ identity: () => ({ clusterId: 'c1', serverId: from }) })
  const stream = await dial(wire, { address: `127.0.0.1:${target.port}`, path, to: 'b' })
  if (hears) stream.start({ onFrame: () => {}, onDrain: () => {}, onClose: () => {} })
  return stream
}

async function ends(t: Test, what: string, stream: WireStream): Promise<void> {
  await eventuallyTrue(`${what} ends its stream`, () => !stream.open)
  t.pass(what)
}

const followed = await new Target(false).start(t)
const led = await new Target(true).start(t)
t.equal(led.seat.core.role, 'leader')

await t.test('handshakes', async (t) => {
  const texts = ['', 'c1', 'b', 'x', 'x'.repeat(300), '\n', '__proto__', '\u{1F600}', 'c2']
  const versions = [0, 1, 2, 3, 2 ** 31, 2 ** 32 - 1]
  const opening = Buffer.concat([preface, settings, open(1, paths.calls)])
  for (let at = 0; at < inputsWanted / 40; at += 1) {
    const hello = {
      versionMin: pick(versions),
      versionMax: pick(versions),
      clusterId: pick(texts),
      from: pick(texts),
      to: pick(texts),
    }
    const bytes = openings.encode({ hello })
    const attacker = new Attacker(followed.port)
    const first = pick([bytes, mutated(bytes), noise(60)])
    await attacker.send(Buffer.concat([opening, message(1, first), message(1, noise(50))]))
    attacker.hangUp()
  }
  await followed.isWell(t, 'handshakes')
})

/** Elements that take two bytes each and become an object, and numbers that take one. */
const bombs: readonly (readonly [string, string, readonly number[]])[] = [
  ['messages', paths.raft, [0x12, 0]],
  ['calls', paths.calls, [0x12, 0]],
  ['answers', paths.calls, [0x1a, 0]],
  ['cancels', paths.calls, [0x20, 1]],
  ['items', paths.stream, [0x32, 0]],
  ['snapshots', paths.snapshot, [0x12, 0]],
]
for (const [what, path, part] of bombs) {
  await t.test(`a frame of fifteen million ${what}`, async (t) => {
    const stream = await speak(followed, path)
    stream.write(Buffer.alloc(31 * mebibyte, Buffer.from(part)))
    await ends(t, what, stream)
    await followed.isWell(t, what)
  })
}

const leads = (body: Partial<WireMessage>, term = led.seat.core.term): Buffer =>
  raftFrames.encode({ messages: [{ term, ...body }] })
const append = { prevIndex: 0, prevTerm: 0, commitIndex: 0, round: 1, entries: [] }
const { lastIndex } = led.seat.core.log
const lies: readonly (readonly [string, () => Buffer])[] = [
  ['another leader of its term', () => leads({ heartbeat: { commitIndex: 0, round: 1 } })],
  ['entries of another leader', () => leads({ appendRequest: append })],
  [
    'an acknowledgement of what was never sent',
    () => leads({ appendResponse: { ok: true, matchIndex: lastIndex + 1, round: 0 } }),
  ],
  ['an answer to a round to come', () => leads({ heartbeatResponse: { round: 2 ** 40 } })],
  [
    'the last term there is',
    () =>
      leads(
        { voteRequest: { lastIndex: 2 ** 40, lastTerm: 2 ** 40, transfer: true } },
        Number.MAX_SAFE_INTEGER,
      ),
  ],
]
for (const [what, bytesOf] of lies) {
  await t.test(`a leader hears ${what}`, async (t) => {
    const { term } = led.seat.core
    const stream = await speak(led, paths.raft)
    stream.write(bytesOf())
    await ends(t, what, stream)
    t.same([led.seat.core.role, led.seat.core.term], ['leader', term], 'it leads as before')
    await led.isWell(t, what)
  })
}

await t.test('a configuration that is none', async (t) => {
  const { term, log } = followed.seat.core
  const entry = { index: 1, term, kind: 3, data: Buffer.from('{"version":1}') }
  const stream = await speak(followed, paths.raft)
  stream.write(
    raftFrames.encode({ messages: [{ term, appendRequest: { ...append, entries: [entry] } }] }),
  )
  await ends(t, 'it', stream)
  t.equal(log.lastIndex, 0)
  await followed.isWell(t, 'a configuration')
})

function anyMessage(term: number): object {
  const entry = () => ({ index: number(), term: number(), kind: integer(0, 6), data: noise(40) })
  const voteRequest = { lastIndex: number(), lastTerm: number(), transfer: integer(0, 2) === 0 }
  const bodies: readonly object[] = [
    { preVoteRequest: voteRequest },
    { voteRequest },
    { preVoteResponse: { granted: true } },
    { voteResponse: { granted: true } },
    { heartbeat: { commitIndex: number(), round: number() } },
    { heartbeatResponse: { round: number() } },
    { timeoutNow: { lastIndex: pick([0, number()]) } },
    { timeoutNow: { lastIndex: number(), voted: true, acknowledgedIndex: pick([0, number()]) } },
    { readIndexRequest: { id: number(), linearizable: true } },
    { readIndexResponse: { id: number(), index: number() } },
    { appendResponse: { round: number(), ok: true, matchIndex: number() } },
    { appendResponse: { ok: false, rejectedIndex: number(), hintIndex: number() } },
    {
      appendRequest: {
        ...append,
        prevIndex: pick([0, number()]),
        commitIndex: number(),
        entries: Array.from({ length: integer(0, 4) }, entry),
      },
    },
    {},
  ]
  return { term: pick([term, term, term, term + 1, number()]), ...pick(bodies) }
}

await t.test('messages without sense, and frames that were good once', async (t) => {
  for (const target of [followed, led]) {
    let stream = await speak(target, paths.raft)
    for (let at = 0; at < inputsWanted / 2; at += 1) {
      if (!stream.open) stream = await speak(target, paths.raft, pick(['a', 'c', 'x']))
      const { term } = target.seat.core
      const bytes = raftFrames.encode({
        messages: Array.from({ length: integer(1, 5) }, () => anyMessage(term)),
      })
      stream.write(integer(0, 3) === 0 ? mutated(bytes) : bytes)
      if (at % 50 === 0) await target.answers()
    }
    stream.close('done')
    await target.isWell(t, 'messages')
  }
})

const hostileValues: readonly unknown[] = [
  null,
  Number.NaN,
  -1,
  2 ** 53,
  'x'.repeat(100_000),
  JSON.parse('{"__proto__":{"a":1},"constructor":{"prototype":{}}}'),
  Array.from({ length: 10_000 }, () => []),
]
/** Lists that never come, texts without an end, lists in lists, records, references, errors, patterns, endless numbers. */
const hostileBytes: readonly Buffer[] = [
  Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff]),
  Buffer.alloc(500, Buffer.from([0xdd, 0x01, 0xc9, 0xc3, 0x80])),
  Buffer.from([0xdb, 0xff, 0xff, 0xff, 0xff, 1]),
  Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff, 1, 1]),
  Buffer.alloc(200_000, 0x91),
  Buffer.from([0xd4, 0x72, 0x40, 0x91, 0xa1, 0x61, 1]),
  Buffer.from([0xd6, 0x69, 0, 0, 0, 1, 0x91, 1]),
  Buffer.concat([Buffer.from([0xc9, 0, 1, 0, 0, 0x42]), Buffer.alloc(65_536, 1)]),
  Buffer.concat([Buffer.from([0xc7, 0, 0x65, 0x93]), Buffer.from([0xa4]), Buffer.from('eval')]),
].map((bytes) => Buffer.concat([Buffer.from([1]), bytes]))

function anyCall(id: number): object {
  const args = pick([
    () => encodeValue(pick(hostileValues)),
    () => pick(hostileBytes),
    () => noise(50),
  ])()
  return {
    id: pick([id, id, id, 1, number()]),
    method: pick(['m', 'park', 'throw', '', '__proto__', 'x'.repeat(50_000)]),
    args: integer(0, 5) === 0 ? mutated(args) : args,
    token: pick(['', 't', 'x'.repeat(100_000)]),
    remote: pick(['', '1.2.3.4:5', 'x'.repeat(50_000)]),
    requestId: pick(['r', '\n', 'x'.repeat(50_000)]),
    timeoutMs: pick([0, 1, 1_000, 2 ** 32 - 1]),
  }
}

await t.test('calls with anything in them', async (t) => {
  let stream = await speak(followed, paths.calls)
  for (let at = 0; at < inputsWanted / 8; at += 1) {
    if (!stream.open) stream = await speak(followed, paths.calls, pick(['a', 'c', 'x']))
    const requests = Array.from({ length: integer(1, 6) }, (_, n) => anyCall(at * 10 + n + 2))
    const bytes = callFrames.encode({ requests, responses: [], cancels: [number()] })
    stream.write(integer(0, 6) === 0 ? mutated(bytes) : bytes)
    if (at % 20 === 0) await followed.answers()
  }
  stream.close('done')
  await followed.isWell(t, 'calls')
  t.ok(
    followed.errors.every((text) => text === 'a call failed unexpectedly'),
    'by `throw` alone',
  )
})

const callsOf = (method: string, count: number, bytes: number, first = 1): Buffer =>
  callFrames.encode({
    requests: Array.from({ length: count }, (_, at) => ({
      id: first + at,
      method,
      args: encodeValue(Buffer.alloc(bytes)),
      timeoutMs: 2 ** 31,
    })),
    responses: [],
    cancels: [],
  })

await t.test('answers that nobody reads, and calls that never end', async (t) => {
  const before = heapBytes()
  const streams = []
  for (let at = 0; at < 8; at += 1) {
    const stream = await speak(followed, paths.calls, `x${at}`, false)
    streams.push(stream)
    stream.write(callsOf('large', 60, 1))
    stream.write(callsOf('park', 6, mebibyte, 100))
  }
  await followed.answers()
  await eventuallyTrue('what waits is bounded', () => heapBytes() - before < 200 * mebibyte)
  for (const stream of streams) stream.close('done')
  await followed.isWell(t, 'calls that are not read')
})

await t.test('streams that are asked for in every wrong way, and left', async (t) => {
  const request = { id: 0, method: 'all', args: encodeValue({}), timeoutMs: 1 }
  const frames = [
    { open: request, credit: 2 ** 52 },
    { open: request },
    { credit: 5 },
    { accepted: true, ended: true, items: [noise(10)] },
    { open: { ...request, method: 'refuse' } },
    { open: { ...request, args: hostileBytes[1] } },
    { open: { ...request, args: Buffer.alloc(2 * mebibyte) } },
  ].map((frame) => streamFrames.encode({ items: [], ...frame }))
  for (let at = 0; at < inputsWanted / 40; at += 1) {
    const stream = await speak(followed, paths.stream, pick(['a', 'x']), integer(0, 2) === 0)
    for (let n = integer(1, 4); n > 0; n -= 1)
      stream.write(pick([pick(frames), mutated(pick(frames))]))
    if (at % 10 === 0) await followed.answers()
    stream.close('done')
  }
  await followed.isWell(t, 'streams')
})

await t.test('snapshots of nothing', async (t) => {
  const member = { id: 'x'.repeat(mebibyte), name: 'x', address: 'x', role: 9 }
  const good = { ...member, id: 'x', role: 1 }
  const meta = { index: 5, term: 1, configurationIndex: 1, clusterId: 'c1', members: [good] }
  const offer = { term: 1, id: 's', meta: { ...meta, predecessors: [], beginsAt: 0 } }
  const frames = [
    { offer },
    { offer },
    { offer: { ...offer, meta: { ...offer.meta, members: [member] } } },
    { offer: { ...offer, meta: { ...offer.meta, index: Number.MAX_SAFE_INTEGER } } },
    { chunk: { number: 0, crc32: 0, compression: 0, data: Buffer.alloc(0) } },
    { chunk: { number: 0, crc32: 1, compression: 1, data: noise(50) } },
    { chunk: { number: number(), crc32: 0, compression: 7, data: Buffer.alloc(3 * mebibyte) } },
    { end: { sha256: 'x', count: 0 } },
    { end: { sha256: '0'.repeat(64), count: 0 } },
  ].map((frame) => snapshotFrames.encode(frame))
  for (let at = 0; at < inputsWanted / 40; at += 1) {
    const stream = await speak(followed, paths.snapshot, pick(['a', 'x']), integer(0, 2) === 0)
    for (let n = integer(1, 8); n > 0; n -= 1)
      stream.write(pick([pick(frames), mutated(pick(frames))]))
    if (at % 10 === 0) await followed.answers()
    stream.close('done')
  }
  await followed.isWell(t, 'snapshots')
})
