/** What hostile clients of the streams send that has one right answer: handshakes, and frames after a good one. */
import { closeFrame, frame, handshake } from './websocket-client.ts'

export const events = '/v1/event/stream'
export const monitor = '/v1/agent/monitor?log_level=trace'
export const endpoints = [events, monitor] as const
export const stops = '\r\nHost: localhost\r\n\r\n'

export type Case = readonly [name: string, sent: string | Uint8Array, status: number | null]

/** 0: the connection ends without an answer. Null: nothing is answered yet. */
export function handshakes(target: string): readonly Case[] {
  const deflate = 'permessage-deflate; server_max_window_bits=99; client_max_window_bits="x'
  const other = `GET /v1/regions HTTP/1.1${stops}`
  const asked = handshake(target)
  return [
    ['no key', handshake(target, { 'Sec-WebSocket-Key': null }), 400],
    ['a short key', handshake(target, { 'Sec-WebSocket-Key': 'AAAA' }), 400],
    ['two keys', handshake(target, {}, ['Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==']), 400],
    ['an old version', handshake(target, { 'Sec-WebSocket-Version': '7' }), 400],
    ['no version', handshake(target, { 'Sec-WebSocket-Version': null }), 400],
    ['a version that is none', handshake(target, { 'Sec-WebSocket-Version': '1e999' }), 400],
    ['POST', handshake(target, {}, ['Content-Length: 0'], 'POST'), 405],
    ['a body', `${handshake(target, {}, ['Content-Length: 2'])}hi`, 200],
    ['an endless body', handshake(target, {}, ['Transfer-Encoding: chunked']), null],
    ['a length that is none', handshake(target, {}, ['Content-Length: -1']), 400],
    ['Connection alone', handshake(target, { Upgrade: null }), 200],
    ['Upgrade alone', handshake(target, { Connection: null }), 200],
    ['another protocol', handshake(target, { Upgrade: 'h2c' }), 200],
    ['subprotocols', handshake(target, {}, ['Sec-WebSocket-Protocol: soap, wamp']), 101],
    ['subprotocols that are none', handshake(target, {}, ['Sec-WebSocket-Protocol: ,a,,']), 400],
    ['extensions', handshake(target, {}, ['Sec-WebSocket-Extensions: x-a; b=c, x-d']), 101],
    ['a broken extension', handshake(target, {}, [`Sec-WebSocket-Extensions: ${deflate}`]), 101],
    ['another origin', handshake(target, { Origin: 'http://evil.example' }), 403],
    ['an origin that is none', handshake(target, { Origin: '://' }), 403],
    ['a huge header', handshake(target, { Cookie: 'a'.repeat(20_000) }), 431],
    ['a thousand headers', handshake(target, {}, Array<string>(5_000).fill('A: b')), 431],
    ['a head that never ends', handshake(target).slice(0, -2), null],
    ['half a request line', 'GET /v1/eve', null],
    ['behind an unanswered request', `${other}${asked}`, 200],
    ['behind a stream', `GET ${target} HTTP/1.1${stops}${asked}`, null],
    ['behind a blocking query', `GET /v1/kv/a?index=999999 HTTP/1.1${stops}${asked}`, null],
    [
      'behind a refused expectation',
      `GET /v1/regions HTTP/1.1\r\nExpect: tea${stops}${asked}`,
      417,
    ],
    ['twice at once', `${asked}${asked}`, 101],
    ['the first frame with it', Buffer.concat([Buffer.from(asked), frame(9, 'ping')]), 101],
    ['a route without', handshake('/v1/regions'), 200],
    ['a route without that waits', handshake('/v1/kv/a?index=999999&wait=9m'), null],
    ['no route', handshake('/v1/nowhere'), 404],
    ['a whole URL', handshake(`http://localhost${target}`), 101],
  ]
}

export const queries: readonly Case[] = [
  ['a huge index', handshake(`${events}?index=${'9'.repeat(40)}`), 400],
  ['a negative index', handshake(`${events}?index=-1`), 400],
  ['an index that is gone', handshake(`${events}?index=1`), null],
  ['an unknown topic', handshake(`${events}?topic=Nothing`), 400],
  ['a long key', handshake(`${events}?topic=KV:${'k'.repeat(9_000)}`), 400],
  ['many topics', handshake(`${events}?${'topic=KV&'.repeat(1_000)}`), 400],
  ['a broken escape', handshake(`${events}?topic=%ff%`), 400],
  ['a control character', handshake(`${monitor}&server_id=%00%0d%0a`), 400],
  ['a level that is none', handshake('/v1/agent/monitor?log_level=__proto__'), 400],
  ['another server', handshake(`${monitor}&server_id=nobody`), 400],
  ['a node', handshake(`${monitor}&node_id=1`), 400],
]

/** The code of the goodbye; null: it just ends. */
export type Talk = readonly [name: string, sent: Uint8Array, code: number | null]

export const talks: readonly Talk[] = [
  ['a reserved bit', frame(1, 'a', { reserved: 1 }), 1002],
  ['compression that nobody agreed to', frame(1, 'a', { reserved: 4 }), 1002],
  ['a reserved opcode', frame(3, 'a'), 1002],
  ['a reserved control opcode', frame(11), 1002],
  ['no mask', frame(1, 'a', { masked: false }), 1002],
  ['a continuation of nothing', frame(0, 'a'), 1002],
  ['a message within another', Buffer.concat([frame(1, 'a', { fin: false }), frame(1)]), 1002],
  ['a ping in fragments', frame(9, 'a', { fin: false }), 1002],
  ['a long ping', frame(9, Buffer.alloc(126)), 1002],
  ['a length of 2^63', frame(2, '', { length: 2n ** 63n }), 1009],
  ['a length of 2^31', frame(2, '', { length: 2n ** 31n }), 1009],
  ['100 MB announced', frame(2, 'slowly', { length: 100_000_000n }), 1009],
  ['a large message', frame(2, Buffer.alloc(5_000)), 1009],
  ['text that is none', frame(1, Buffer.from([0xc3, 0x28])), 1007],
  ['a goodbye of one byte', frame(8, 'a'), 1002],
  ['a goodbye with a reserved code', closeFrame(1005), 1002],
  ['a goodbye with no code', closeFrame(0), 1002],
  ['a goodbye with a code beyond all', closeFrame(65_535), 1002],
  ['a goodbye that is no text', frame(8, Buffer.from([0x03, 0xe8, 0xff])), 1007],
  ['a goodbye', closeFrame(1000), 1000],
  ['a goodbye and more', Buffer.concat([closeFrame(1000), frame(3)]), 1000],
]
