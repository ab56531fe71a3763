/**
 * Hostile bytes on the RPC port: TCP, HTTP/2 and gRPC without any rule, then frames of the protocol that no server sends.
 * The server goes on, nothing of what was sent stays, and its own calls get through all the while. FUZZ_PACKETS, FUZZ_SEED.
 */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { encodeHello } from '../../src/wire/handshake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { seed } from '../support/randomness.ts'
import { integer, noise, pick } from '../support/fuzz.ts'
import { heapBytes } from '../support/heap.ts'
import { inputsWanted } from './hostile/randomness.ts'
import {
  acknowledged,
  Attacker,
  flags,
  frame,
  frameTypes,
  header,
  message,
  open,
  preface,
  settings,
  windows,
} from './hostile/http2.ts'
import { limits, paths, Target } from './hostile/target.ts'

t.comment(`FUZZ_SEED=${seed}`)
t.teardown(() => {
  t.comment(`FUZZ_SEED=${seed}`)
  // As the program ends too. Left to itself Node may wait for ever for a request of a socket that was cut.
  setImmediate(() => process.exit())
})

const path = paths.calls
const hello = encodeHello({ clusterId: 'c1', serverId: 'x' }, { min: 1, max: 2 }, 'b')
const begin = Buffer.concat([preface, settings])
const target = await new Target(false).start(t)

/** So many attackers at a time, each on its own connection. */
async function attack(
  count: number,
  bytesOf: () => Uint8Array | Promise<Uint8Array>,
  options: { readonly reads?: boolean; readonly stay?: boolean } = {},
): Promise<readonly Attacker[]> {
  const attackers = []
  for (let at = 0; at < count; at += 1) {
    const attacker = new Attacker(target.port, options.reads)
    attackers.push(attacker)
    void attacker.send(await bytesOf())
    if (at % 20 === 19) await attacker.connected()
  }
  await Promise.all(attackers.map((attacker) => attacker.connected()))
  if (options.stay !== true) {
    await target.answers()
    for (const attacker of attackers) attacker.hangUp()
  }
  return attackers
}

await t.test('bytes that are no HTTP/2', async (t) => {
  const heads = [
    'GET / HTTP/1.1\r\nHost: a\r\n\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n',
    'PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n',
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'POST /muster HTTP/1.1\r\nUpgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\n\r\n',
  ].map((text) => Buffer.from(text, 'latin1'))
  await attack(Math.ceil(inputsWanted / 20), () =>
    Buffer.concat([pick([Buffer.alloc(0), ...heads]), noise(300)]),
  )
  await target.isWell(t, 'noise')
})

await t.test('more that say nothing than there is room for', async (t) => {
  const silent = await attack(limits.strangersMax * 3, () => Buffer.alloc(0), { stay: true })
  await target.answers()
  await eventuallyTrue('the oldest had to go', () => silent.filter(({ gone }) => gone).length > 0)
  t.ok(target.server.open.strangers <= limits.strangersMax)
  for (const attacker of silent) attacker.hangUp()
  await target.isWell(t, 'silence')
})

await t.test('frames of every kind, of any length, flag and stream', async (t) => {
  const anyFrame = (): Buffer => {
    const length = pick([0, 1, 4, 5, 8, 9, 40, 200])
    const stream = pick([0, 1, 1, 1, 2, 3, 5, 2 ** 31 - 1])
    return frame(integer(0, 11), integer(0, 256), stream, noise(length))
  }
  await attack(Math.ceil(inputsWanted / 20), () => {
    const opened = integer(0, 2) === 0 ? [open(1, path), message(1, hello)] : []
    const frames = Array.from({ length: integer(1, 30) }, anyFrame)
    return Buffer.concat([begin, ...opened, ...frames])
  })
  await target.isWell(t, 'broken frames')
})

const loop = (count: number, each: (at: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => each(at)))
const { data, headers, priority, reset, ping, window, continuation } = frameTypes
const big = 'x'.repeat(4_000)
const setting = Buffer.from([0, 4, 0x7f, 0xff, 0xff, 0xff])
const floods: Readonly<Record<string, () => Buffer>> = {
  settings: () => loop(20_000, () => frame(frameTypes.settings, 0, 0, setting)),
  pings: () => loop(20_000, () => frame(ping, 0, 0, Buffer.alloc(8))),
  'windows that overflow': () => loop(10, () => windows(1)),
  'small windows': () => loop(20_000, () => frame(window, 0, 0, Buffer.from([0, 0, 0, 1]))),
  'streams that are reset at once': () =>
    loop(5_000, (at) =>
      Buffer.concat([open(at * 2 + 1, path), frame(reset, 0, at * 2 + 1, Buffer.alloc(4))]),
    ),
  'streams at once': () => loop(2_000, (at) => open(at * 2 + 1, path)),
  'heads without an end': () =>
    Buffer.concat([
      frame(headers, 0, 1, header('a', 'b')),
      loop(2_000, () => frame(continuation, 0, 1, header('a', big))),
    ]),
  'empty continuations': () =>
    Buffer.concat([
      frame(headers, 0, 1, header('a', 'b')),
      loop(20_000, () => frame(continuation, 0, 1, Buffer.alloc(0))),
    ]),
  // One entry of the table, then a byte for each time it is said again.
  'a head of one byte for four thousand': () => {
    const entry = header('a', big)
    entry[0] = 0x40
    const bomb = Buffer.concat([entry, Buffer.alloc(12_000, 0xbe)])
    return loop(500, (at) => frame(headers, flags.endHeaders, at * 2 + 1, bomb))
  },
  'data of streams that are closed': () =>
    Buffer.concat([
      open(1, path, {}, flags.endStream),
      loop(5_000, () => frame(data, 0, 1, Buffer.alloc(1_000))),
    ]),
  'priorities in circles': () =>
    loop(20_000, (at) =>
      frame(priority, 0, (at % 50) * 2 + 1, Buffer.from([0, 0, 0, ((at + 1) % 50) * 2 + 1, 1])),
    ),
  'empty messages': () =>
    Buffer.concat([
      open(1, path),
      message(1, hello),
      loop(20_000, () => message(1, hello.subarray(0, 0))),
    ]),
  'empty data': () =>
    Buffer.concat([open(1, path), loop(20_000, () => frame(data, 0, 1, Buffer.alloc(0)))]),
}
for (const [what, bytesOf] of Object.entries(floods)) {
  for (const reads of [true, false]) {
    await t.test(`${what}, ${reads ? 'heard' : 'by one who does not listen'}`, async (t) => {
      const flood = Buffer.concat([begin, bytesOf()])
      const before = heapBytes()
      const attackers = await attack(4, () => flood, { reads, stay: true })
      await target.answers()
      t.ok(heapBytes() - before < 64 * 1024 * 1024, 'it holds little meanwhile')
      for (const attacker of attackers) attacker.hangUp()
      await target.isWell(t, what)
    })
  }
}

await t.test('gRPC without its rules', async (t) => {
  const anyCall = (): Buffer => {
    const timeout = pick(['0n', '1n', '99999999H', '100000000H', '-1S', 'x', '00000000m', '3S'])
    const encoding = pick(['gzip', 'deflate', 'identity', 'br', '', 'x'.repeat(200)])
    const head = {
      method: pick(['POST', 'GET', 'PUT', 'CONNECT', '']),
      type: pick(['application/grpc', 'application/grpc+json', 'text/html', '']),
      more: [
        ['grpc-timeout', timeout],
        ['grpc-encoding', encoding],
      ] as const,
    }
    const to = pick([...Object.values(paths), '/', '', '*', '/muster.raft.Raft/None', `/${big}`])
    const good = integer(0, 2) === 0
    return Buffer.concat([
      open(1, good ? path : to, good ? { more: head.more } : head),
      pick([
        message(1, hello),
        message(1, noise(60), 1),
        message(1, gzipSync(Buffer.alloc(100_000)), 1),
        message(1, noise(10), integer(0, 256), 2 ** 32 - 1),
        Buffer.concat([message(1, hello), message(1, noise(200))]),
        frame(headers, flags.endHeaders | flags.endStream, 1, header('grpc-status', '0')),
        Buffer.alloc(0),
      ]),
    ])
  }
  await attack(Math.ceil(inputsWanted / 10), () => Buffer.concat([begin, anyCall()]))
  await target.isWell(t, 'broken calls')
})

await t.test('messages that never end hold a bounded share of memory', async (t) => {
  const most = 30 * 1024 * 1024
  const part = message(1, Buffer.alloc(7 * 1024 * 1024), 0, most)
  const before = heapBytes()
  const opening = Buffer.concat([begin, open(1, path), windows(1), message(1, hello)])
  const attackers = await attack(20, () => opening, { stay: true })
  for (const attacker of attackers) {
    // Before it has said who it is the server takes less.
    await attacker.hears('c1')
    await attacker.send(Buffer.concat([acknowledged, acknowledged, part.subarray(0, -1)]))
  }
  await eventuallyTrue('some had to go', () => attackers.some(({ gone }) => gone))
  await eventuallyTrue('what they hold is bounded', () => {
    return heapBytes() - before < limits.unreadBytesMax + 32 * 1024 * 1024
  })
  t.ok(
    attackers.some(({ gone }) => !gone),
    'the others go on',
  )
  await target.answers()
  for (const attacker of attackers) attacker.hangUp()
  await target.isWell(t, 'unfinished messages')
})

await t.test('nothing is unpacked, however small it came', async (t) => {
  const head = { more: [['grpc-encoding', 'gzip']] as const }
  const packed = message(1, gzipSync(hello), 1)
  const open1 = Buffer.concat([begin, open(1, path, head), packed])
  const attackers = await attack(20, () => open1, { stay: true })
  await target.answers()
  t.equal(target.server.open.streams, 2, 'a packed handshake is none')
  for (const attacker of attackers) attacker.hangUp()
  await target.isWell(t, 'packed messages')
})

t.same(target.errors, [], 'nothing was logged as an error')
