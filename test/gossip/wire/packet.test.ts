/** Packets: their layers byte by byte, how messages are put together, and what is refused as what. */
import assert from 'node:assert/strict'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import type { PacketMessage } from '../../../src/gossip/core/message.ts'
import { encodeMessage } from '../../../src/gossip/wire/codec.ts'
import { compress } from '../../../src/gossip/wire/lzw.ts'
import { Writer } from '../../../src/gossip/wire/msgpack-writer.ts'
import { packetBytesMax, type WireOptions } from '../../../src/gossip/wire/packet.ts'
import { hex, hexOf } from './hex.ts'
import { packetMessage } from './messages.ts'
import { keyring, refusals, wires } from './wires.ts'

const nack: PacketMessage = { type: 'nack', sequence: 1 }
const nackHex = "0b 81 a5'SeqNo'01"
const user = (size: number): PacketMessage => ({ type: 'user', bytes: new Uint8Array(size) })
const unchecked = { checksum: false }

function one(packets: readonly Uint8Array[]): Uint8Array {
  const [packet] = packets
  if (packet === undefined || packets.length !== 1) throw new Error(`${packets.length} packets`)
  return packet
}

function compound(elements: readonly Uint8Array[]): Uint8Array {
  const lengths = elements.flatMap(({ length }) => [length >> 8, length & 255])
  return Buffer.concat([Uint8Array.from([7, elements.length, ...lengths]), ...elements])
}

function compressed(content: Uint8Array): Uint8Array {
  const writer = new Writer().byte(9).map(2).text('Algo').unsigned(0)
  return writer.text('Buf').raw(compress(content)).finish()
}

await t.test('the layers have the bytes of the format', (t) => {
  const plain = wires().packets
  t.equal(hexOf(one(plain.encode([nack], unchecked))), hexOf(hex(nackHex)))
  t.equal(
    hexOf(one(plain.encode([nack], { checksum: true }))),
    hexOf(hex(`0c 09735157 ${nackHex}`)),
    'a checksum',
  )
  t.equal(
    hexOf(one(plain.encode([nack, user(1)], unchecked))),
    hexOf(hex(`07 02 0009 0002 ${nackHex} 0800`)),
    'a compound',
  )
  const labelled = wires({ label: 'blue' }).packets
  t.equal(
    hexOf(one(labelled.encode([nack], unchecked))),
    hexOf(hex(`f4 04'blue' ${nackHex}`)),
    'a label',
  )
  const sealed = one(wires({ keyring: keyring(1) }).packets.encode([nack], unchecked))
  t.equal(sealed[0], 1, 'the version of the encryption')
  t.equal(sealed.length, 1 + 12 + hex(nackHex).length + 16)
  const packed = one(plain.encode([user(600)], unchecked))
  t.equal(hexOf(packed.subarray(0, 12)), hexOf(hex("09 82 a4'Algo'00 a3'Buf'")), 'compressed')
  t.end()
})

const settings: readonly (readonly [string, Partial<WireOptions>])[] = [
  ['plain', {}],
  ['plain, not compressing', { compress: false }],
  ['with a label', { label: 'l'.repeat(255) }],
  ['encrypted', { keyring: keyring(1) }],
  ['encrypted with a label', { keyring: keyring(1), label: 'blue' }],
]

await t.test('messages come back in their order, from packets of at most 1,400 bytes', (t) => {
  for (const [what, options] of settings) {
    fc.assert(
      fc.property(
        fc.array(packetMessage, { maxLength: 40 }),
        fc.boolean(),
        (messages, checksum) => {
          const { packets, counters } = wires(options)
          const built = packets.encode(messages, { checksum })
          for (const packet of built) assert.ok(packet.length <= packetBytesMax)
          assert.deepStrictEqual(
            built.flatMap((packet) => packets.decode(packet)),
            messages,
          )
          assert.equal(counters.packets.accepted, built.length)
          assert.equal(counters.messages.accepted, messages.length)
          assert.equal(refusals(counters.packets.refused), '')
        },
      ),
      { numRuns: 60 },
    )
    t.pass(what)
  }
  t.end()
})

await t.test('a packet is filled up to the last byte', (t) => {
  for (const [what, options] of settings) {
    const { packets } = wires({ ...options, compress: false })
    // One byte of kind and two in the compound are added to each.
    const exact = [user(100), user(packets.contentBytesMax - 2 - 103 - 3)]
    const built = packets.encode(exact, { checksum: true })
    t.equal(one(built).length, packetBytesMax, what)
    t.equal(packets.encode([...exact, user(0)], { checksum: true }).length, 2, `${what}, one more`)
  }
  t.end()
})

await t.test('a large message has a packet of its own, one over all bounds is left out', (t) => {
  const { packets } = wires({ compress: false })
  const built = packets.encode([nack, user(3000), nack, user(70_000)], unchecked)
  t.same(
    built.map(({ length }) => length),
    [9, 3001, 9],
  )
  const many = Array.from({ length: 300 }, () => user(0))
  t.equal(packets.encode(many, unchecked).length, 2, 'a compound counts up to 255')
  t.end()
})

await t.test('compounds and compression within one another are unfolded, to a depth', (t) => {
  const { packets, counters } = wires()
  const inner = encodeMessage(nack)
  const nested = compound([compressed(compound([inner, inner])), inner])
  t.same(packets.decode(nested), [nack, nack, nack])
  t.same(packets.decode(compressed(compressed(inner))), [nack])
  let deep: Uint8Array = inner
  for (let depth = 0; depth < 6; depth++) deep = compound([deep])
  t.same(packets.decode(compound([deep, inner])), [], 'nothing after what is too deep')
  t.equal(refusals(counters.packets.refused), 'too-large 1')
  t.end()
})

await t.test('a small packet cannot become a large one', (t) => {
  const { packets, counters } = wires()
  const bomb = compressed(compound([encodeMessage(nack), new Uint8Array(60_000).fill(8)]))
  t.ok(bomb.length < 1000)
  const several = compound([bomb, bomb, bomb, bomb, bomb, bomb])
  t.equal(packets.decode(several).length, 8, 'four of the six are unfolded')
  t.equal(counters.messages.refused, 2)
  const full = compound(Array.from({ length: 255 }, () => new Uint8Array()))
  const fullest = compound(Array.from({ length: 60 }, () => full))
  t.same(packets.decode(fullest), [])
  t.equal(refusals(counters.packets.refused), 'too-large 1')
  t.end()
})

await t.test('a compound that is cut off gives what is whole', (t) => {
  const { packets, counters } = wires()
  const whole = compound([encodeMessage(nack), encodeMessage(nack), encodeMessage(nack)])
  t.same(packets.decode(whole.subarray(0, whole.length - 1)), [nack, nack])
  t.equal(counters.messages.refused, 1)
  t.same(packets.decode(compound([encodeMessage(nack), hex('63 80')])), [nack])
  t.equal(counters.messages.refused, 2, 'an unknown kind beside a known one')
  t.end()
})

await t.test('what is refused is counted by reason', (t) => {
  const options = {
    plain: {},
    blue: { label: 'blue' },
    key1: { keyring: keyring(1) },
    key2: { keyring: keyring(2) },
    key1Blue: { keyring: keyring(1), label: 'blue' },
  }
  type Who = keyof typeof options
  const rows: readonly (readonly [Who, Who, string])[] = [
    ['plain', 'blue', 'wrong-label 1'],
    ['plain', 'key1', 'plain 1'],
    ['plain', 'key1Blue', 'wrong-label 1'],
    ['blue', 'plain', 'wrong-label 1'],
    ['blue', 'key1Blue', 'plain 1'],
    ['key1', 'plain', 'wrong-key 1'],
    ['key1', 'key2', 'wrong-key 1'],
    ['key1', 'blue', 'wrong-label 1'],
    ['key1Blue', 'key1', 'wrong-label 1'],
    ['key1Blue', 'blue', 'wrong-key 1'],
    ['key1Blue', 'key1Blue', ''],
  ]
  // The first byte of a ping and of an indirect ping is that of an encryption, too.
  const messages: readonly PacketMessage[] = [
    { type: 'ping', sequence: 1, node: 'a member of a long name', source: null },
    { type: 'ack', sequence: 1, payload: null },
  ]
  for (const message of messages) {
    for (const [sender, receiver, wanted] of rows) {
      const packet = one(wires(options[sender]).packets.encode([message], unchecked))
      const { packets, counters } = wires(options[receiver])
      packets.decode(packet)
      t.equal(
        refusals(counters.packets.refused),
        wanted,
        `${message.type} from ${sender} to ${receiver}`,
      )
    }
  }
  t.end()
})

await t.test('what is damaged is broken', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['no bytes', ''],
    ['a wrong checksum', `0c 00000000 ${nackHex}`],
    ['half a checksum', '0c fe1d'],
    ['a checksum of a checksum', '0c 03d21a1c 0c 00000000'],
    ['an empty label', `f4 00 ${nackHex}`],
    ['half a label', "f4 05'blue'"],
    ['a stream kind', "06 83 a5'Nodes'00"],
    ['an empty compound', '07 00'],
    ['a compound without its lengths', '07 05 0001'],
    ['an unknown compression', "09 82 a4'Algo'01 a3'Buf'a0"],
    ['compression of nothing', "09 81 a4'Algo'00"],
    ['compression that is damaged', "09 82 a4'Algo'00 a3'Buf'a3ffffff"],
  ]
  for (const [what, bytes] of rows) {
    const { packets, counters } = wires()
    t.same(packets.decode(hex(bytes)), [], what)
    t.equal(refusals(counters.packets.refused), 'broken 1', what)
  }
  t.end()
})
