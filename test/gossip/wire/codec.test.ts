/** The failure detector's messages: golden bytes, what is tolerated, what is refused, and round trips. */
import assert from 'node:assert/strict'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import type { PacketMessage } from '../../../src/gossip/core/message.ts'
import { decodeMessage, encodeMessage, messageBytes } from '../../../src/gossip/wire/codec.ts'
import { hex, hexOf } from './hex.ts'
import { packetMessage } from './messages.ts'

const endpoint = { address: Uint8Array.of(10, 0, 0, 1), port: 7946 }
const versions = {
  protocolMin: 1,
  protocolMax: 5,
  protocolCurrent: 2,
  delegateMin: 2,
  delegateMax: 5,
  delegateCurrent: 5,
}

const golden: readonly (readonly [PacketMessage, string])[] = [
  [{ type: 'ping', sequence: 7, node: 'b', source: null }, "00 82 a4'Node'a1'b' a5'SeqNo'07"],
  [
    { type: 'ping', sequence: 300, node: 'b', source: { endpoint, node: 'a' } },
    `00 85 a4'Node'a1'b' a5'SeqNo'cd012c aa'SourceAddr'a40a000001 aa'SourceNode'a1'a'
     aa'SourcePort'cd1f0a`,
  ],
  [
    {
      type: 'indirect-ping',
      sequence: 9,
      target: endpoint,
      node: 'b',
      wantsNack: true,
      source: null,
    },
    "01 85 a4'Nack'c3 a4'Node'a1'b' a4'Port'cd1f0a a5'SeqNo'09 a6'Target'a40a000001",
  ],
  [{ type: 'ack', sequence: 7, payload: null }, "02 82 a7'Payload'c0 a5'SeqNo'07"],
  [
    { type: 'ack', sequence: 7, payload: Uint8Array.of(1, 0x80) },
    "02 82 a7'Payload'a20180 a5'SeqNo'07",
  ],
  [
    { type: 'suspect', incarnation: 3, node: 'b', from: 'a' },
    "03 83 a4'From'a1'a' ab'Incarnation'03 a4'Node'a1'b'",
  ],
  [
    { type: 'alive', incarnation: 3, node: 'b', endpoint, meta: Uint8Array.of(255), versions },
    `04 86 a4'Addr'a40a000001 ab'Incarnation'03 a4'Meta'a1ff a4'Node'a1'b' a4'Port'cd1f0a
     a3'Vsn'a6010502020505`,
  ],
  [
    { type: 'dead', incarnation: 3, node: 'b', from: 'b' },
    "05 83 a4'From'a1'b' ab'Incarnation'03 a4'Node'a1'b'",
  ],
  [{ type: 'user', bytes: Uint8Array.of(1, 2) }, '08 0102'],
  [{ type: 'nack', sequence: 200 }, "0b 81 a5'SeqNo'ccc8"],
]

await t.test('every message has the bytes of the format', (t) => {
  for (const [message, bytes] of golden) {
    t.equal(hexOf(encodeMessage(message)), hexOf(hex(bytes)), message.type)
    t.same(decodeMessage(hex(bytes)), message, `${message.type} back`)
    t.equal(messageBytes(message), hex(bytes).length, `the size of ${message.type}`)
  }
  t.end()
})

await t.test('what a real agent of serf 0.9.4 sent is read, and written the same', (t) => {
  const alive = hex(`04 86 a4'Addr'a47f000001 ab'Incarnation'01 a4'Meta'ab ff81a4'role'a3'web'
    a4'Node'a1'x' a4'Port'cd6d2a a3'Vsn'a6010502020505`)
  const message = decodeMessage(alive)
  t.match(message, { type: 'alive', node: 'x', endpoint: { port: 27_946 }, versions })
  t.equal(message === null ? '' : hexOf(encodeMessage(message)), hexOf(alive))
  t.end()
})

await t.test('any order, other string forms, unknown and missing fields are tolerated', (t) => {
  const rows: readonly (readonly [string, PacketMessage])[] = [
    [
      "00 83 a5'SeqNo'07 a5'Later'92c3dd00000001cb0000000000000000 a4'Node'd901'b'",
      { type: 'ping', sequence: 7, node: 'b', source: null },
    ],
    ['00 80', { type: 'ping', sequence: 0, node: '', source: null }],
    ['02 80 ffff', { type: 'ack', sequence: 0, payload: null }],
    ["02 81 a5'SeqNo'c0", { type: 'ack', sequence: 0, payload: null }],
    [
      "00 82 aa'SourceAddr'a0 aa'SourcePort'00",
      { type: 'ping', sequence: 0, node: '', source: null },
    ],
    ["0b 82 a1'T'd6ff00000000 a5'SeqNo'd30000000000000001", { type: 'nack', sequence: 1 }],
    ["03 81 a4'Node'c401'b'", { type: 'suspect', incarnation: 0, node: 'b', from: '' }],
    [
      "04 83 a4'Node'a1'b' a4'Addr'b0 00000000000000000000ffff0a000001 a4'Port'01",
      {
        type: 'alive',
        incarnation: 0,
        node: 'b',
        endpoint: { ...endpoint, port: 1 },
        meta: new Uint8Array(),
        versions: null,
      },
    ],
  ]
  for (const [bytes, message] of rows) {
    t.same(decodeMessage(hex(bytes)), message, bytes)
  }
  t.end()
})

await t.test('a field out of its range makes no message', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['no bytes', ''],
    ['no map', '00'],
    ['a list', '00 90'],
    ['an unknown kind', '63 80'],
    ['a push/pull', '06 80'],
    ['a number for text', "00 81 a4'Node'07"],
    ['a sequence of 33 bits', "02 81 a5'SeqNo'cf0000000100000000"],
    ['a sequence below zero', "02 81 a5'SeqNo'ff"],
    ['half a sequence', "02 81 a5'SeqNo'ca3f000000"],
    ['an accusation of nobody', "03 81 a4'From'a1'a'"],
    ['a name with a line end', "05 81 a4'Node'a3'a'0a'b'"],
    ['a name that is not UTF-8', "05 81 a4'Node'a2c328"],
    ['a name of 256 bytes', `05 81 a4'Node'da0100${'61'.repeat(256)}`],
    ['an address of five bytes', "04 83 a4'Node'a1'b' a4'Addr'a50a00000101 a4'Port'01"],
    ['no address', "04 82 a4'Node'a1'b' a4'Port'01"],
    ['no port', "04 82 a4'Node'a1'b' a4'Addr'a40a000001"],
    ['port 65536', "04 83 a4'Node'a1'b' a4'Addr'a40a000001 a4'Port'ce00010000"],
    ['five versions', "04 84 a4'Node'a1'b' a4'Addr'a40a000001 a4'Port'01 a3'Vsn'a50105020205"],
    [
      'meta of 513 bytes',
      `04 84 a4'Node'a1'b' a4'Addr'a40a000001 a4'Port'01 a4'Meta'da0201${'00'.repeat(513)}`,
    ],
    ['a truth that is a number', "01 82 a4'Nack'01 a4'Port'01"],
  ]
  for (const [what, bytes] of rows) t.equal(decodeMessage(hex(bytes)), null, what)
  t.end()
})

await t.test('messages come back as they went', (t) => {
  fc.assert(
    fc.property(packetMessage, (message) => {
      assert.deepStrictEqual(decodeMessage(encodeMessage(message)), message)
    }),
    { numRuns: 300 },
  )
  t.end()
})

await t.test('a message keeps no memory of the packet it came in', (t) => {
  const packet = hex("02 82 a7'Payload'a20180 a5'SeqNo'07")
  const message = decodeMessage(packet)
  packet.fill(0)
  t.same(message, { type: 'ack', sequence: 7, payload: Uint8Array.of(1, 0x80) })
  t.end()
})
