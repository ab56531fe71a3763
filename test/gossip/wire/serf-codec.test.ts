/** Messages of the membership layer, its tags, and addresses: golden bytes, what is left out, round trips. */
import assert from 'node:assert/strict'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import type { SerfMessage } from '../../../src/gossip/core/message.ts'
import { codeOf } from '../../../src/lib/errors.ts'
import { formatAddress, formatEndpoint, parseAddress } from '../../../src/gossip/wire/address.ts'
import { decodeSerfMessage, encodeSerfMessage } from '../../../src/gossip/wire/serf-codec.ts'
import { createCodec } from '../../../src/gossip/wire/core-codec.ts'
import { encodeFilter } from '../../../src/gossip/wire/filters.ts'
import {
  decodeConflictResponse,
  decodeKeyRequest,
  decodeKeyResponse,
  encodeConflictResponse,
  encodeKeyRequest,
  encodeKeyResponse,
} from '../../../src/gossip/wire/internal-queries.ts'
import { decodeTags, encodeTags } from '../../../src/gossip/wire/tags.ts'
import { hex, hexOf } from './hex.ts'
import { serfMessage } from './messages.ts'

const endpoint = { address: Uint8Array.of(10, 0, 0, 1), port: 7946 }

const golden: readonly (readonly [SerfMessage, string])[] = [
  [
    { type: 'leave-intent', time: 5, node: 'b', prune: true },
    "00 83 a5'LTime'05 a4'Node'a1'b' a5'Prune'c3",
  ],
  [{ type: 'join-intent', time: 5, node: 'b' }, "01 82 a5'LTime'05 a4'Node'a1'b'"],
  [
    {
      type: 'serf-push-pull',
      time: 5,
      statusTimes: new Map([['b', 4]]),
      leftMembers: ['c'],
      eventTime: 2,
      events: [{ time: 1, events: [{ name: 'deploy', payload: Uint8Array.of(9) }] }],
      queryTime: 3,
    },
    `02 86 aa'EventLTime'02
     a6'Events'91 82 a5'LTime'01 a6'Events'91 82 a4'Name'a6'deploy' a7'Payload'a109
     a5'LTime'05 ab'LeftMembers'91 a1'c' aa'QueryLTime'03 ac'StatusLTimes'81 a1'b'04`,
  ],
  [
    { type: 'user-event', time: 5, name: 'e', payload: Uint8Array.of(9), coalesce: true },
    "03 84 a2'CC'c3 a5'LTime'05 a4'Name'a1'e' a7'Payload'a109",
  ],
  [
    {
      type: 'query',
      time: 5,
      id: 70_000,
      endpoint,
      sourceNode: 'a',
      filters: [Uint8Array.of(0, 0x90)],
      wantsAck: true,
      noBroadcast: true,
      relayFactor: 2,
      timeoutNs: 15_000_000_000,
      name: 'q',
      payload: new Uint8Array(),
    },
    `04 8b a4'Addr'a40a000001 a7'Filters'91a20090 a5'Flags'03 a2'ID'ce00011170 a5'LTime'05
     a4'Name'a1'q' a7'Payload'a0 a4'Port'cd1f0a ab'RelayFactor'02 aa'SourceNode'a1'a'
     a7'Timeout'cf000000037e11d600`,
  ],
  [
    { type: 'query-response', time: 5, id: 1, from: 'b', flags: 1, payload: Uint8Array.of(9) },
    "05 85 a5'Flags'01 a4'From'a1'b' a2'ID'01 a5'LTime'05 a7'Payload'a109",
  ],
  [
    { type: 'relay', destination: endpoint, node: 'b', bytes: Uint8Array.of(5, 0x80) },
    "09 82 a8'DestAddr'83 a2'IP'a40a000001 a4'Port'cd1f0a a4'Zone'a0 a8'DestName'a1'b' 0580",
  ],
]

await t.test('every message has the bytes of the format', (t) => {
  for (const [message, bytes] of golden) {
    t.equal(hexOf(encodeSerfMessage(message)), hexOf(hex(bytes)), message.type)
    t.same(decodeSerfMessage(hex(bytes)), message, `${message.type} back`)
  }
  t.end()
})

await t.test(
  'the state of a fresh serf agent is read: holes of its ring of events and nil lists',
  (t) => {
    const state = hex(`02 86 aa'EventLTime'01 a6'Events'dc0200 ${'c0'.repeat(512)} a5'LTime'01
    ab'LeftMembers'c0 aa'QueryLTime'01 ac'StatusLTimes'81 a1'x'00`)
    t.same(decodeSerfMessage(state), {
      type: 'serf-push-pull',
      time: 1,
      statusTimes: new Map([['x', 0]]),
      leftMembers: [],
      eventTime: 1,
      events: [],
      queryTime: 1,
    })
    t.end()
  },
)

await t.test('one bad entry of a state is left out, the rest is kept', (t) => {
  const state =
    hex(`02 83 ac'StatusLTimes'83 a1'x'01 a0 02 a1'y'a1'z' ab'LeftMembers'93 a1'x' 01 a10a
    a6'Events'92 82 a5'LTime'01 a6'Events'91 81 a4'Name'a1ff
    82 a5'LTime'02 a6'Events'91 81 a4'Name'a1'e'`)
  t.match(decodeSerfMessage(state), {
    statusTimes: new Map([['x', 1]]),
    leftMembers: ['x'],
    events: [{ time: 2, events: [{ name: 'e', payload: new Uint8Array() }] }],
  })
  t.end()
})

await t.test('a field out of its range makes no message', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['no bytes', ''],
    ['an unknown kind', '0a 80'],
    ['a key request by itself', '07 80'],
    ['an intent about nobody', "00 81 a5'LTime'05"],
    ['a time that no number holds', "01 82 a5'LTime'cf001fffffffffffff a4'Node'a1'b'"],
    ['a time below zero', "01 82 a5'LTime'ff a4'Node'a1'b'"],
    ['a query from nowhere', "04 81 a5'LTime'05"],
    ['a filter that is no string', "04 83 a4'Addr'a40a000001 a4'Port'01 a7'Filters'9101"],
    ['a relay to nowhere', "09 81 a8'DestAddr'80"],
    ['times that are a list', "02 81 ac'StatusLTimes'90"],
  ]
  for (const [what, bytes] of rows) t.equal(decodeSerfMessage(hex(bytes)), null, what)
  t.end()
})

await t.test('messages come back as they went', (t) => {
  fc.assert(
    fc.property(serfMessage, (message) => {
      assert.deepStrictEqual(decodeSerfMessage(encodeSerfMessage(message)), message)
    }),
    { numRuns: 300 },
  )
  t.end()
})

await t.test('filters say who answers; one that is not understood lets nobody through', (t) => {
  const nodes = hex("00 92 a1'a' a1'b'")
  const tag = hex("01 82 a4'Expr'a2'^w' a3'Tag'a4'role'")
  t.equal(hexOf(encodeFilter({ type: 'nodes', names: ['a', 'b'] })), hexOf(nodes))
  t.equal(hexOf(encodeFilter({ type: 'tag', tag: 'role', pattern: '^w' })), hexOf(tag))
  const web = { name: 'a', tags: new Map([['role', 'web']]) }
  const plain = { name: 'c', tags: new Map<string, string>() }
  const codec = createCodec((pattern, text) => {
    if (pattern === '(') throw new Error('no pattern')
    return pattern === '^w' ? text.startsWith('w') : text === ''
  })
  const bad = encodeFilter({ type: 'tag', tag: 'role', pattern: '(' })
  const none = encodeFilter({ type: 'tag', tag: 'role', pattern: '^$' })
  const rows: readonly (readonly [string, readonly Uint8Array[], boolean, boolean])[] = [
    ['no filter', [], true, true],
    ['names', [nodes], true, false],
    ['a tag', [tag], true, false],
    ['both', [nodes, tag], true, false],
    ['a tag that is not there is empty', [none], false, true],
    ['a pattern that is refused', [bad], false, false],
    ['an unknown kind', [hex('02 90')], false, false],
    ['no bytes', [new Uint8Array()], false, false],
    ['a name that is none', [hex('00 91 a0')], false, false],
  ]
  for (const [what, filters, first, second] of rows) {
    t.equal(codec.matches(filters, web), first, what)
    t.equal(codec.matches(filters, plain), second, `${what}, of another`)
  }
  t.end()
})

await t.test('the payloads of internal queries have the bytes of the format', (t) => {
  const key = Uint8Array.of(1, 2)
  t.equal(hexOf(encodeKeyRequest(key)), hexOf(hex("07 81 a3'Key'a20102")))
  t.same(decodeKeyRequest(encodeKeyRequest(key)), key)
  t.same(decodeKeyRequest(hex("07 81 a3'Key'c0")), new Uint8Array())
  const response = { ok: true, message: '', keys: ['AQI='], primaryKey: 'AQI=' }
  const bytes = hex("08 84 a4'Keys'91 a4'AQI=' a7'Message'a0 aa'PrimaryKey'a4'AQI=' a6'Result'c3")
  t.equal(hexOf(encodeKeyResponse(response)), hexOf(bytes))
  t.same(decodeKeyResponse(bytes), response)
  const conflict = { name: 'b', endpoint }
  const known = hex("06 83 a4'Addr'a40a000001 a4'Name'a1'b' a4'Port'cd1f0a")
  t.equal(hexOf(encodeConflictResponse(conflict)), hexOf(known))
  t.same(decodeConflictResponse(known), conflict)
  t.equal(hexOf(encodeConflictResponse(null)), '06c0')
  t.equal(decodeConflictResponse(hex('06 c0')), null)
  for (const text of ['', '06', '06 80', '07 80', "08 81 a4'Keys'91 01", '08 90']) {
    t.equal(decodeConflictResponse(hex(text)), 'invalid', text)
    t.equal(decodeKeyResponse(hex(text)), null, text)
  }
  t.equal(decodeKeyRequest(hex('08 80')), null)
  t.end()
})

await t.test('tags are a marked map; bytes without the mark are a role', (t) => {
  const tags = new Map([
    ['role', 'web'],
    ['dc', 'dc1'],
  ])
  t.equal(hexOf(encodeTags(tags)), hexOf(hex("ff 82 a4'role'a3'web' a2'dc'a3'dc1'")))
  t.same(decodeTags(encodeTags(tags)), tags)
  t.equal(encodeTags(new Map()).length, 0)
  t.same(decodeTags(new Uint8Array()), new Map())
  t.same(decodeTags(hex("'db'")), new Map([['role', 'db']]))
  for (const bytes of ['ff', 'ff 90', "ff 81 a1'a' 01", "ff 81 a1'a' a1ff", 'c3']) {
    t.equal(decodeTags(hex(bytes)), null, bytes)
  }
  try {
    encodeTags(new Map([['t', 'x'.repeat(510)]]))
    t.fail('tags over 512 bytes')
  } catch (error) {
    t.equal(codeOf(error), 'too_large')
  }
  t.end()
})

await t.test(
  'addresses are read as text and as bytes; a mapped IPv4 address is one of 4 bytes',
  (t) => {
    const rows: readonly (readonly [string, string])[] = [
      ['127.0.0.1', '127.0.0.1'],
      ['::ffff:10.1.2.3', '10.1.2.3'],
      ['::1', '::1'],
      ['0:0:0:0:0:0:0:1', '::1'],
      ['::', '::'],
      ['2001:db8::8:1', '2001:db8::8:1'],
      ['2001:0DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
      ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
      ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
      ['fd00:1:2:3:4:5:0:0', 'fd00:1:2:3:4:5::'],
      ['fe80::1%eth0', 'fe80::1'],
      ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
      ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ]
    for (const [text, wanted] of rows) {
      const address = parseAddress(text)
      t.equal(address === null ? null : formatAddress(address), wanted, text)
    }
    for (const text of ['', 'localhost', '1.2.3', '1.2.3.256', ':::', '1::2::3']) {
      t.equal(parseAddress(text), null, text)
    }
    t.equal(formatEndpoint(endpoint), '10.0.0.1:7946')
    t.equal(formatEndpoint({ address: new Uint8Array(16), port: 1 }), '[::]:1')
    t.end()
  },
)
