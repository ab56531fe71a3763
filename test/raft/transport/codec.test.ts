import { deepStrictEqual } from 'node:assert/strict'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { encodeConfiguration } from '../../../src/raft/core/membership.ts'
import type { Entry, Message } from '../../../src/raft/core/message.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import {
  decodeAck,
  decodeFrame,
  encodeAck,
  encodeFrame,
  promiseMsMax,
} from '../../../src/raft/transport/codec.ts'
import {
  decodeSnapshotFrame,
  decodeSnapshotReply,
  encodeSnapshotFrame,
  encodeSnapshotReply,
  packChunk,
  type SnapshotFrame,
  type SnapshotReply,
  unpackChunk,
} from '../../../src/raft/transport/snapshot-codec.ts'
import { wireType } from '../../../src/wire/protocol.ts'

const whole = fc.oneof(fc.maxSafeNat(), fc.nat(300), fc.constant(Number.MAX_SAFE_INTEGER))
const data = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes))
const configuration = fc
  .record({
    clusterId: fc.string(),
    id: fc.string(),
    role: fc.constantFrom('voter' as const, 'learner' as const),
  })
  .map(({ clusterId, id, role }) =>
    Buffer.from(
      encodeConfiguration({ clusterId, members: [{ id, name: id, address: 'a:1', role }] }),
    ),
  )
const content = fc.oneof(
  fc.record({ kind: fc.constantFrom('noop' as const, 'command' as const), data }),
  fc.record({ kind: fc.constant('configuration' as const), data: configuration }),
)
const head = <Type extends Message['type']>(type: Type) => ({
  type: fc.constant(type),
  from: fc.constant('a'),
  to: fc.constant('b'),
  term: whole,
})

const asked = fc.constantFrom({}, { asksPromise: true } as const)
const promised = fc.oneof(
  fc.constant({}),
  fc.record({
    promiseMs: fc.double({ min: 0.001, max: promiseMsMax, noNaN: true }),
    firm: fc.boolean(),
  }),
)

/** The same with what is promised, or asked. */
function withMore<Kind extends Message>(
  base: fc.Arbitrary<Kind>,
  more: fc.Arbitrary<object>,
): fc.Arbitrary<Kind> {
  return fc.tuple(base, more).map(([one, other]) => ({ ...one, ...other }))
}

/** Terms rise from the term before the entries to the sender's term, as they do in a log. */
const appendRequest = fc
  .record({
    first: fc.nat(2 ** 40),
    prevTerm: fc.nat(2 ** 40),
    steps: fc.array(fc.record({ rise: fc.nat(3), content }), { maxLength: 6 }),
    ahead: fc.nat(5),
    commitIndex: whole,
    round: whole,
  })
  .map(({ first, prevTerm, steps, ahead, commitIndex, round }): Message => {
    let term = prevTerm
    const entries = steps.map(({ rise, content }, at): Entry => {
      term += rise
      return { index: first + 1 + at, term, ...content }
    })
    const log = { prevIndex: first, prevTerm, entries, commitIndex, round }
    return { type: 'appendRequest', from: 'a', to: 'b', term: term + ahead, ...log }
  })

const refusal = fc.tuple(whole, whole).map(([x, y]) => [Math.max(x, y), Math.min(x, y)] as const)

const message: fc.Arbitrary<Message> = fc.oneof(
  { weight: 4, arbitrary: withMore(appendRequest, asked) },
  fc.record({ ...head('preVoteRequest'), lastIndex: whole, lastTerm: whole }),
  fc.record({ ...head('preVoteResponse'), granted: fc.boolean() }),
  fc.record({ ...head('voteRequest'), lastIndex: whole, lastTerm: whole, transfer: fc.boolean() }),
  fc.record({ ...head('voteResponse'), granted: fc.boolean() }),
  withMore(
    fc.record({
      ...head('appendResponse'),
      round: whole,
      ok: fc.constant(true as const),
      matchIndex: whole,
    }),
    promised,
  ),
  withMore(
    fc
      .record({ ...head('appendResponse'), round: whole, refusal, hintTerm: whole })
      .map(({ refusal: [rejectedIndex, hintIndex], ...rest }): Message => {
        return { ...rest, ok: false, rejectedIndex, hintIndex }
      }),
    promised,
  ),
  withMore(fc.record({ ...head('heartbeat'), commitIndex: whole, round: whole }), asked),
  withMore(fc.record({ ...head('heartbeatResponse'), round: whole }), promised),
  fc
    .record({ ...head('timeoutNow'), ends: fc.tuple(whole, whole), voted: fc.boolean() })
    .map(({ ends, ...rest }): Message => {
      return { ...rest, acknowledgedIndex: Math.min(...ends), lastIndex: Math.max(...ends) }
    }),
  fc.record({ ...head('readIndexRequest'), id: whole, linearizable: fc.boolean() }),
  fc.record({ ...head('readIndexResponse'), id: whole, index: whole }),
)
// fast-check's records have no prototype, decoded messages are plain objects.
const plainMessage = message.map((message): Message => ({ ...message }))
const messages = fc.array(plainMessage, { maxLength: 8 })

t.test('every message survives the wire', async (t) => {
  fc.assert(
    fc.property(messages, whole, (sent, received) => {
      deepStrictEqual(decodeFrame(encodeFrame(sent), 'a', 'b'), sent)
      const ack = decodeAck(encodeAck(received, sent), 'a', 'b')
      deepStrictEqual(ack, { received, messages: sent })
    }),
    { numRuns: 300 },
  )
  t.pass('all did')
})

t.test('the data of entries are views into the frame, not copies', async (t) => {
  const entry: Entry = { index: 1, term: 1, kind: 'command', data: Buffer.alloc(5000, 7) }
  const log = { prevIndex: 0, prevTerm: 0, entries: [entry], commitIndex: 0, round: 1 }
  const frame = encodeFrame([{ type: 'appendRequest', from: 'a', to: 'b', term: 1, ...log }])
  const [decoded] = decodeFrame(frame, 'a', 'b')
  if (decoded?.type !== 'appendRequest') return t.fail('not an append')
  return t.equal(decoded.entries[0]?.data.buffer, frame.buffer)
})

// Each row breaks one rule of an otherwise good message.
const entry = { index: 8, term: 3, kind: 2, data: Buffer.from('x') }
const append = { prevIndex: 7, prevTerm: 3, commitIndex: 5, round: 1, entries: [entry] }
const badMessages: [string, object][] = [
  ['no body', { term: 3 }],
  ['a term of 2^53', { term: 2 ** 53, timeoutNow: { lastIndex: 0 } }],
  [
    'a handover that acknowledged more than there is',
    { term: 1, timeoutNow: { lastIndex: 4, voted: true, acknowledgedIndex: 5 } },
  ],
  ['a gap after prevIndex', { term: 3, appendRequest: { ...append, prevIndex: 6 } }],
  ['a gap between entries', withEntries(entry, { ...entry, index: 10 })],
  ['the same entry twice', withEntries(entry, entry)],
  ['an entry of kind 0', withEntries({ ...entry, kind: 0 })],
  ['an entry of kind 9', withEntries({ ...entry, kind: 9 })],
  ['an entry of a later term than its sender', withEntries({ ...entry, term: 4 })],
  ['an entry of an earlier term than the one before', withEntries({ ...entry, term: 2 })],
  ['an index of 2^53', { term: 3, appendRequest: { ...append, prevIndex: 2 ** 53 } }],
  ['a commit index of 2^60', { term: 3, heartbeat: { commitIndex: 2 ** 60, round: 1 } }],
  ['a promise without end', { term: 3, heartbeatResponse: { round: 1, promiseMs: Infinity } }],
  ['a promise that is no number', { term: 3, heartbeatResponse: { round: 1, promiseMs: NaN } }],
  ['a promise in the past', { term: 3, heartbeatResponse: { round: 1, promiseMs: -1 } }],
  ['a hint above the rejection', { term: 3, appendResponse: { rejectedIndex: 4, hintIndex: 5 } }],
  ['a read id of 2^53', { term: 3, readIndexRequest: { id: 2 ** 53 } }],
]

for (const [name, bad] of badMessages) {
  t.test(`refused: ${name}`, async (t) => {
    const frame = wireType<object>('muster.raft.RaftFrame').encode({ messages: [bad] })
    t.throws(() => decodeFrame(frame, 'a', 'b'), { name: 'MusterError', code: 'corrupt' })
  })
}

function withEntries(...entries: object[]): object {
  return { term: 3, appendRequest: { ...append, entries } }
}

const meta = {
  index: 9,
  term: 3,
  configurationIndex: 4,
  configuration: {
    clusterId: 'c1',
    members: [
      { id: 'a', name: 's1', address: '127.0.0.1:4647', role: 'voter' as const },
      { id: 'b', name: 's2', address: '127.0.0.1:5647', role: 'learner' as const },
    ],
  },
}
const snapshotFrames: SnapshotFrame[] = [
  { type: 'offer', term: 3, id: 'snapshot-1', meta },
  { type: 'chunk', number: 7, crc32: 0xffff_ffff, compressed: true, data: Buffer.from('abc') },
  { type: 'end', sha256: 'ab'.repeat(32), count: 8 },
]
const snapshotReplies: SnapshotReply[] = [
  { type: 'accepted', received: 0 },
  { type: 'progress', received: 5 },
  { type: 'refused', code: 'conflict', message: 'no' },
  { type: 'done' },
]

t.test('the frames of a snapshot survive the wire', async (t) => {
  for (const frame of snapshotFrames) {
    t.strictSame(decodeSnapshotFrame(encodeSnapshotFrame(frame)), frame)
  }
  for (const reply of snapshotReplies) {
    t.strictSame(decodeSnapshotReply(encodeSnapshotReply(reply)), reply)
  }
})

t.test('chunks are compressed from version 2 on and checked in both', async (t) => {
  const plain = Buffer.alloc(100_000, 'abcdef')
  const first = await packChunk(0, plain, 1)
  const second = await packChunk(0, plain, 2)
  t.equal(first.compressed, false)
  t.equal(second.compressed, true)
  t.ok(second.data.length < 1000)
  t.same(await unpackChunk(first, 1), plain)
  t.same(await unpackChunk(second, 2), plain)
  await t.rejects(unpackChunk(second, 1), { code: 'corrupt', message: /version 1/ })
  await t.rejects(unpackChunk({ ...first, crc32: 1 }, 1), { message: /checksum/ })
  await t.rejects(unpackChunk({ ...second, data: plain }, 2), { message: /cannot be unpacked/ })
  const bomb = await packChunk(0, Buffer.alloc(8 * 1024 * 1024), 2)
  await t.rejects(unpackChunk(bomb, 2), { code: 'corrupt' })
})

t.test('damaged bytes give a message or one kind of error, nothing else', async (t) => {
  const decoders: ((bytes: Buffer) => unknown)[] = [
    (bytes) => decodeFrame(bytes, 'a', 'b'),
    (bytes) => decodeAck(bytes, 'a', 'b'),
    decodeSnapshotFrame,
    decodeSnapshotReply,
  ]
  const good = fc.oneof(
    messages.map(encodeFrame),
    fc.constantFrom(...snapshotFrames).map(encodeSnapshotFrame),
    fc.constantFrom(...snapshotReplies).map(encodeSnapshotReply),
  )
  const damage = fc.array(fc.record({ at: fc.nat(), value: fc.nat(255) }), { maxLength: 4 })
  const damaged = fc
    .record({ good, damage, cut: fc.nat(400) })
    .map(({ good, damage, cut }): Buffer => {
      const bytes = Buffer.from(good)
      for (const { at, value } of damage) if (bytes.length > 0) bytes[at % bytes.length] = value
      return bytes.subarray(0, cut % 3 === 0 ? cut : bytes.length)
    })
  const random = fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes))
  fc.assert(
    fc.property(fc.oneof(damaged, random), (bytes) => {
      for (const decode of decoders) {
        try {
          decode(bytes)
        } catch (error) {
          if (!(error instanceof MusterError) || error.code !== 'corrupt') throw error
        }
      }
    }),
    { numRuns: 3000 },
  )
  t.pass('only MusterError came out')
})
