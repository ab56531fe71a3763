/** Streams: their bytes, in any chunks; their bounds, before memory is taken; what is refused as what. */
import assert from 'node:assert/strict'
import fc from '../../support/fast-check.ts'
import t from 'tap'
import { codeOf } from '../../../src/lib/errors.ts'
import type { PushPull, StreamMessage } from '../../../src/gossip/core/message.ts'
import { compress } from '../../../src/gossip/wire/lzw.ts'
import { Writer } from '../../../src/gossip/wire/msgpack-writer.ts'
import { pushPullNodesMax } from '../../../src/gossip/wire/push-pull.ts'
import {
  streamBytesMax,
  type StreamDecoder,
  type StreamRead,
  type StreamSide,
} from '../../../src/gossip/wire/stream.ts'
import { hex, hexOf } from './hex.ts'
import { streamMessage } from './messages.ts'
import { keyring, refusals, wires } from './wires.ts'

const versions = {
  protocolMin: 1,
  protocolMax: 5,
  protocolCurrent: 2,
  delegateMin: 2,
  delegateMax: 5,
  delegateCurrent: 5,
}

const pushPull: PushPull = {
  type: 'push-pull',
  nodes: [
    {
      name: 'b',
      endpoint: { address: Uint8Array.of(10, 0, 0, 1), port: 7946 },
      meta: Uint8Array.of(255),
      incarnation: 3,
      state: 'left',
      versions,
    },
  ],
  userState: Uint8Array.of(2, 0x80),
  join: true,
}

const golden: readonly (readonly [StreamMessage, string])[] = [
  [
    pushPull,
    `06 83 a4'Join'c3 a5'Nodes'01 ac'UserStateLen'02
     87 a4'Addr'a40a000001 ab'Incarnation'03 a4'Meta'a1ff a4'Name'a1'b' a4'Port'cd1f0a
     a5'State'03 a3'Vsn'a6010502020505
     0280`,
  ],
  [{ type: 'ping', sequence: 7, node: 'b', source: null }, "00 82 a4'Node'a1'b' a5'SeqNo'07"],
  [{ type: 'ack', sequence: 7, payload: null }, "02 82 a7'Payload'c0 a5'SeqNo'07"],
  [{ type: 'user', bytes: Uint8Array.of(9, 9) }, "08 81 aa'UserMsgLen'02 0909"],
  [{ type: 'error', text: 'no' }, "0d 81 a5'Error'a2'no'"],
]

function feed(decoder: StreamDecoder, bytes: Uint8Array, chunkBytes = bytes.length): StreamRead {
  let read: StreamRead = { type: 'incomplete' }
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    if (read.type !== 'incomplete') throw new Error('there is a result before the last chunk')
    read = decoder.feed(bytes.subarray(at, at + chunkBytes))
  }
  return read
}

function shown(read: StreamRead): string {
  return read.type === 'refused' ? read.reason : read.type
}

await t.test('every message has the bytes of the format, in chunks of any size', (t) => {
  const { streams } = wires({ compress: false })
  for (const [message, bytes] of golden) {
    for (const side of ['request', 'answer'] as const) {
      t.equal(hexOf(streams.encode(message, side)), hexOf(hex(bytes)), message.type)
      for (const chunkBytes of [1, 2, 7, 1000]) {
        t.same(
          feed(streams.decoder(side), hex(bytes), chunkBytes),
          { type: 'message', message },
          `${message.type} in chunks of ${chunkBytes}`,
        )
      }
    }
  }
  t.end()
})

await t.test('the label goes before a request and into the seal of both sides', (t) => {
  const blue = wires({ label: 'blue', keyring: keyring(1) }).streams
  const request = blue.encode(pushPull, 'request')
  const answer = blue.encode(pushPull, 'answer')
  t.equal(hexOf(request.subarray(0, 7)), hexOf(hex("f4 04'blue' 0a")))
  t.equal(answer[0], 10)
  t.equal(Buffer.from(answer).readUInt32BE(1), answer.length - 5)
  t.equal(shown(feed(blue.decoder('answer'), answer)), 'message')
  t.equal(shown(feed(blue.decoder('request'), answer)), 'wrong-label')
  const other = wires({ label: 'other', keyring: keyring(1) }).streams
  t.equal(shown(feed(other.decoder('answer'), answer)), 'wrong-key')
  t.end()
})

await t.test('messages come back as they went, whatever is around them', (t) => {
  const options = [{}, { compress: false }, { keyring: keyring(1) }, { label: 'blue' }]
  for (const option of options) {
    const { streams, counters } = wires(option)
    fc.assert(
      fc.property(
        streamMessage,
        fc.constantFrom<StreamSide>('request', 'answer'),
        fc.integer({ min: 1, max: 100 }),
        (message, side, chunkBytes) => {
          const bytes = streams.encode(message, side)
          assert.deepStrictEqual(feed(streams.decoder(side), bytes, chunkBytes), {
            type: 'message',
            message,
          })
        },
      ),
      { numRuns: 100 },
    )
    t.equal(counters.streams.accepted, 100)
  }
  t.end()
})

await t.test('what comes after the message changes nothing', (t) => {
  const { streams, counters } = wires({ compress: false })
  const decoder = streams.decoder('request')
  const bytes = hex("0d 81 a5'Error'a2'no'")
  const first = decoder.feed(Buffer.concat([bytes, hex('ffff')]))
  t.equal(shown(first), 'message')
  t.equal(decoder.feed(hex('00')), first)
  t.equal(decoder.end(), first)
  t.equal(decoder.heldBytes, 0)
  t.equal(counters.streams.accepted, 1)
  t.end()
})

await t.test('a bound is seen in the header, before what it announces comes', (t) => {
  const { streams, counters } = wires({ compress: false })
  const sealed = wires({ keyring: keyring(1) })
  const uint32 = (value: number): string => `ce${value.toString(16).padStart(8, '0')}`
  const rows: readonly (readonly [string, string])[] = [
    ['members', `06 81 a5'Nodes'${uint32(pushPullNodesMax + 1)}`],
    ['state', `06 81 ac'UserStateLen'${uint32(streamBytesMax + 1)}`],
    ['a user message', `08 81 aa'UserMsgLen'${uint32(streamBytesMax + 1)}`],
  ]
  for (const [what, bytes] of rows) {
    t.equal(shown(feed(streams.decoder('request'), hex(bytes))), 'too-large', what)
  }
  t.equal(refusals(counters.streams.refused), 'too-large 3')
  t.equal(shown(feed(sealed.streams.decoder('request'), hex('0a ffffffff'))), 'too-large')
  t.equal(
    shown(feed(streams.decoder('request'), hex("09 81 a3'Buf'dbffffffff"))),
    'broken',
    'compressed bytes',
  )
  const member = `06 81 a5'Nodes'01 df0000003f ${"a1'k' da0fff".padEnd(30, ' ')}`
  const endless = Buffer.concat([hex(member), new Uint8Array(9000)])
  t.not(shown(feed(streams.decoder('request'), endless)), 'incomplete', 'one endless member')
  t.end()
})

await t.test('20 MiB are the most, compressed or not', (t) => {
  const { streams } = wires()
  const large: StreamMessage = { type: 'user', bytes: new Uint8Array(streamBytesMax) }
  try {
    streams.encode(large, 'request')
    t.fail('a message over the bound is encoded')
  } catch (error) {
    t.equal(codeOf(error), 'too_large')
  }
  const writer = new Writer().byte(9).map(2).text('Algo').unsigned(0)
  const bomb = writer
    .text('Buf')
    .raw(compress(new Uint8Array(streamBytesMax + 1)))
    .finish()
  t.ok(bomb.length < 60_000, `a bomb of ${bomb.length} bytes`)
  t.equal(shown(feed(streams.decoder('request'), bomb)), 'too-large')
  const decoder = streams.decoder('request')
  const chunk = new Uint8Array(1024 * 1024)
  decoder.feed(hex(`08 81 aa'UserMsgLen'ce${streamBytesMax.toString(16).padStart(8, '0')}`))
  for (let sent = 0; sent < 19; sent++) t.equal(shown(decoder.feed(chunk)), 'incomplete')
  t.equal(shown(decoder.feed(chunk)), 'message')
  t.end()
})

await t.test('a member with a field out of its range is left out and counted', (t) => {
  const { streams, counters } = wires({ compress: false })
  const bytes = hex(`06 82 a4'Join'c2 a5'Nodes'03
    83 a4'Name'a1'b' a4'Addr'a40a000001 a4'Port'01
    83 a4'Name'a1'c' a4'Addr'a20a00 a4'Port'01
    84 a4'Name'a1'd' a4'Addr'a40a000001 a4'Port'01 a5'State'04`)
  const read = feed(streams.decoder('request'), bytes, 5)
  t.match(read, { message: { nodes: [{ name: 'b', state: 'alive', versions: null }] } })
  t.equal(
    read.type === 'message' && read.message.type === 'push-pull' && read.message.nodes.length,
    1,
  )
  t.equal(counters.membersLeftOut, 2)
  t.end()
})

await t.test('what is refused is counted by reason', (t) => {
  const key1 = (): ReturnType<typeof wires> => wires({ keyring: keyring(1) })
  const bytesOf = ({ streams }: ReturnType<typeof wires>): Uint8Array =>
    streams.encode(pushPull, 'request')
  const rows: readonly (readonly [string, Uint8Array, ReturnType<typeof wires>])[] = [
    ['plain 1', bytesOf(wires()), key1()],
    ['wrong-key 1', bytesOf(key1()), wires()],
    ['wrong-key 1', bytesOf(key1()), wires({ keyring: keyring(2) })],
    ['wrong-label 1', bytesOf(wires()), wires({ label: 'blue' })],
    ['wrong-label 1', bytesOf(wires({ label: 'blue' })), wires()],
    ['broken 1', hex('f4 00'), wires()],
    ['broken 1', hex('07 00'), wires()],
    ['broken 1', hex('06 90'), wires()],
    ['broken 1', hex("06 81 a5'Nodes'ff"), wires()],
    ['broken 1', hex("0d 81 a5'Error'01"), wires()],
    ['broken 1', hex("00 81 a5'SeqNo'ff"), wires()],
    ['wrong-key 1', hex('0a 00000000'), key1()],
  ]
  for (const [wanted, bytes, { streams, counters }] of rows) {
    const decoder = streams.decoder('request')
    feed(decoder, bytes)
    decoder.end()
    t.equal(refusals(counters.streams.refused), wanted, hexOf(bytes.subarray(0, 20)))
  }
  t.end()
})

await t.test('a stream that ends early is broken, one without a byte was none', (t) => {
  for (const options of [{ compress: false }, { compress: true }, { keyring: keyring(1) }]) {
    const { streams, counters } = wires(options)
    const bytes = streams.encode(pushPull, 'request')
    for (let cut = 1; cut < bytes.length; cut++) {
      const decoder = streams.decoder('request')
      t.equal(shown(decoder.feed(bytes.subarray(0, cut))), 'incomplete', `cut to ${cut}`)
      t.equal(shown(decoder.end()), 'broken')
    }
    t.equal(counters.streams.refused.broken, bytes.length - 1)
    t.equal(shown(streams.decoder('request').end()), 'incomplete')
    t.equal(counters.streams.refused.broken, bytes.length - 1)
  }
  t.end()
})
