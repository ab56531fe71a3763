/**
 * Hostile clients of the streams: handshakes that are none, frames that nobody may send, floods, and readers that never
 * read. None makes the server fail or keep anything, and nobody else's stream is disturbed. FUZZ_SEED repeats a run;
 * FUZZ_CONNECTIONS says how many random ones there are of each kind: run the file with node for many, for the test
 * runner ends what takes long.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventBuffer } from '../../src/domains/events/services.ts'
import { createLog } from '../../src/process/logging.ts'
import type { LogTap } from '../../src/lib/log.ts'
import { serverOfOne, type ServerOfOne } from '../domains/server-of-one.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { amount, seed } from '../support/randomness.ts'
import { integer, pick } from '../support/fuzz.ts'
import { heapBytes } from '../support/heap.ts'
import { Bystanders } from './fuzz/bystanders.ts'
import {
  endpoints,
  events,
  handshakes,
  monitor,
  queries,
  stops,
  talks,
} from './fuzz/websocket-cases.ts'
import { closeFrame, frame, handshake, HostileClient } from './fuzz/websocket-client.ts'

const connections = amount('FUZZ_CONNECTIONS', { gate: 40, long: 100 })
const heapGrowthBytesMax = 48 * 1024 * 1024
const atATime = 30
/** A random client waits so long for an answer, which may never come. */
const turnsMax = 200
/** Writes of a flood that is not cut off. */
const floodMax = 5_000

/** Buffers go some time after the collection that found them. */
async function noMoreMemoryThan(t: Test, before: number): Promise<void> {
  await eventuallyTrue('memory', () => heapBytes() - before < heapGrowthBytesMax)
  t.comment(`${((heapBytes() - before) / 1_048_576).toFixed(1)} MiB more`)
}

const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => integer(0, 256)))

const uncaught: string[] = []
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => void uncaught.push(`${event}: ${String(error)}`))
}

/** A server with bystanders, and what it holds while only they are there. */
class Arena {
  readonly server: ServerOfOne
  readonly port: number
  readonly bystanders: Bystanders
  readonly logger
  /** Requests that are under way: those of the bystanders. */
  readonly atFirst: number
  readonly #failures: string[]
  readonly #held: () => string
  readonly #heldAtFirst: string

  static async open(t: Test, acl = false): Promise<Arena> {
    const failures: string[] = []
    const log = createLog({
      name: 's1',
      level: 'error',
      json: false,
      sink: { write: (text) => void failures.push(text) },
      wallMs: () => Date.now(),
      soon: queueMicrotask,
    })
    let followers = 0
    const tap: LogTap = {
      follow(level, take) {
        followers += 1
        const unfollow = log.tap.follow(level, take)
        return () => {
          followers -= 1
          unfollow()
        }
      },
    }
    const server = await serverOfOne(t, {
      acl: { enabled: acl },
      log: log.logger,
      agent: { log: tap },
      events: { eventsMax: 2_048 },
    })
    const token = acl ? await bootstrap(server) : null
    const bystanders = await Bystanders.open(t, server, log.logger, token)
    const held = (): string => {
      const sockets = process.getActiveResourcesInfo().filter((kind) => kind === 'TCPSocketWrap')
      const { readers } = server.services.get(eventBuffer).stats()
      const sums = { underWay: server.underWay(), readers, followers, sockets: sockets.length }
      return JSON.stringify(sums)
    }
    const port = Number((await server.address()).split(':')[1])
    return new Arena({ server, port, bystanders, logger: log.logger, failures, held })
  }

  private constructor(from: {
    readonly server: ServerOfOne
    readonly port: number
    readonly bystanders: Bystanders
    readonly logger: ReturnType<typeof createLog>['logger']
    readonly failures: string[]
    readonly held: () => string
  }) {
    this.server = from.server
    this.port = from.port
    this.bystanders = from.bystanders
    this.logger = from.logger
    this.#failures = from.failures
    this.#held = from.held
    this.#heldAtFirst = from.held()
    this.atFirst = from.server.underWay()
  }

  async upgraded(target: string, more: Uint8Array | string = ''): Promise<HostileClient> {
    const client = await HostileClient.open(this.port)
    await client.write(Buffer.concat([Buffer.from(handshake(target)), Buffer.from(more)]))
    const status = await client.status()
    if (status !== 101) throw new Error(`${target} was answered ${status}`)
    return client
  }

  /** All who were hostile have gone. */
  async settle(t: Test, what: string): Promise<void> {
    await this.bystanders.tick()
    t.equal(await this.bystanders.flaw(), null, `${what}: the others were told everything`)
    await eventuallyTrue(
      `${what}: what is held is ${this.#heldAtFirst}`,
      () => this.#held() === this.#heldAtFirst,
    ).catch((error: unknown) => {
      throw new Error(`held: ${this.#held()}, FUZZ_SEED=${seed}`, { cause: error })
    })
    t.same([...uncaught.splice(0), ...this.#failures.splice(0)], [], `${what}: nothing failed`)
  }
}

async function bootstrap(server: ServerOfOne): Promise<string> {
  const made = (await server.ask('PUT', '/v1/acl/bootstrap')).json()
  return String((made as { readonly SecretID: unknown }).SecretID)
}

/** Beside what many connections take. */
t.setTimeout(100_000 + connections * 100)

const arena = await Arena.open(t)

t.test(`handshakes, FUZZ_SEED=${seed}`, async (t) => {
  const cases = [...endpoints.flatMap(handshakes), ...queries]
  for (let done = 0; done < cases.length; done += atATime) {
    const some = cases.slice(done, done + atATime).map(async ([name, sent, status]) => {
      const client = await HostileClient.open(arena.port)
      await client.write(sent)
      if (status !== null) t.equal(await client.status(), status, name)
      await arena.bystanders.tick()
      t.notOk(client.statuses.includes(500), name)
      client.socket.destroy()
    })
    await Promise.all(some)
  }
  await arena.settle(t, 'handshakes')
})

t.test('an event is a line wherever it is no message', async (t) => {
  const client = await HostileClient.open(arena.port)
  await client.write(handshake(`${events}?index=now`, { Connection: null }))
  await eventuallyTrue('the first frame', () => client.received.includes('{}\n\r\n'))
  client.socket.destroy()
  await arena.settle(t, 'lines')
})

t.test('tokens', async (t) => {
  const guarded = await Arena.open(t, true)
  for (const [target, token, status] of [
    [monitor, null, 403],
    [monitor, 'nonsense', 403],
    [events, 'nonsense', 403],
    [`${events}?topic=ACLToken`, null, 403],
    ['/v1/agent/members', 'nonsense', 403],
  ] as const) {
    const client = await HostileClient.open(guarded.port)
    await client.write(handshake(target, { 'X-Service-Token': token }))
    t.equal(await client.status(), status, `${target} with ${token ?? 'no token'}`)
    client.socket.destroy()
  }
  await guarded.settle(t, 'tokens')
})

t.test(`frames, FUZZ_SEED=${seed}`, async (t) => {
  for (const target of endpoints) {
    const some = talks.map(async ([name, sent, code]) => {
      const client = await arena.upgraded(target)
      if (sent.length >= 20) await client.write(sent)
      else for (const byte of sent) await client.write(Uint8Array.of(byte))
      t.equal(await client.closeCode(), code, name)
      await arena.bystanders.tick()
      client.socket.destroy()
    })
    await Promise.all(some)
    await arena.settle(t, `frames to ${target}`)
  }
})

t.test('floods are cut off, and keep nothing', async (t) => {
  const pongs = Buffer.concat(Array<Buffer>(400).fill(frame(10, Buffer.alloc(125))))
  const pings = Buffer.concat(Array<Buffer>(10).fill(frame(9, 'ping')))
  const fragment = frame(1, 'a', { fin: false })
  const more = frame(0, 'a', { fin: false })
  const floods: readonly (readonly [name: string, first: Buffer, more: Buffer])[] = [
    ['pings', pings, pings],
    ['pongs', pongs, pongs],
    ['messages', frame(1, 'a'), frame(2)],
    ['fragments', fragment, more],
    ['empty fragments', frame(1, '', { fin: false }), frame(0, '', { fin: false })],
    ['fragments among pongs', fragment, Buffer.concat([more, pongs])],
    ['bytes of a message', frame(2, 'a', { length: 4_000n }), Buffer.from('a')],
  ]
  const before = heapBytes()
  const flooding = endpoints.flatMap((target) =>
    floods.map(async ([name, first, more]) => {
      const client = await arena.upgraded(target)
      await client.write(first)
      let sent = 0
      // So that each write arrives by itself.
      for (; !client.over && sent < floodMax; sent++) {
        await client.write(more)
        await nextTurn()
      }
      t.ok(await client.ended(), `${name}: ${sent} times until the end`)
      return client
    }),
  )
  const clients = await Promise.all(flooding)
  await noMoreMemoryThan(t, before)
  for (const { socket } of clients) socket.destroy()
  await arena.settle(t, 'floods')
})

t.test('who ends one half holds nothing', async (t) => {
  const kept: HostileClient[] = []
  for (const target of endpoints) {
    for (const last of [Buffer.alloc(0), frame(3), closeFrame(1000)]) {
      const client = await HostileClient.open(arena.port, { halfOpen: true })
      await client.write(handshake(target))
      t.equal(await client.status(), 101)
      await client.write(last)
      if (last.length === 0) client.socket.end()
      // It keeps its half, and the server ends the connection all the same.
      await client.ended()
      if (last.length > 0) await client.write('and more')
      kept.push(client)
    }
  }
  await eventuallyTrue('the server forgets them', () => arena.server.underWay() === arena.atFirst)
  for (const client of kept) client.socket.destroy()
  await arena.settle(t, 'halves')
})

t.test('who never reads costs a bounded amount, loses lines, and is told how many', async (t) => {
  const before = heapBytes()
  const idle = await Promise.all(endpoints.map((target) => arena.upgraded(target)))
  const overHttp = await HostileClient.open(arena.port)
  await overHttp.write(`GET ${monitor}&plain=true HTTP/1.1${stops}`)
  const follower = await arena.upgraded(`${monitor}&plain=true`)
  arena.logger.trace('flood', { n: 0 })
  await eventuallyTrue('it stands', () => overHttp.received.includes('flood'))
  const all = [...idle, overHttp, follower]
  for (const client of all) client.socket.pause()
  const lines = 20_000
  for (let n = 1; n <= lines; n++) arena.logger.trace('flood', { n, pad: 'x'.repeat(400) })
  await arena.server.ask('PUT', '/v1/kv/flood', 'x')
  const operations = (round: number) =>
    Array.from({ length: 64 }, (_, n) => ({
      KV: { Verb: 'set', Key: `${'k'.repeat(400)}/${n}`, Value: btoa(`${round}`.repeat(100)) },
    }))
  const { behind } = arena.server.services.get(eventBuffer).stats()
  for (let round = 0; round < 120; round++) {
    const { status } = await arena.server.ask('PUT', '/v1/txn', operations(round))
    if (status !== 200) throw new Error(`a transaction was answered ${status}`)
    if (round % 16 === 0) {
      await arena.bystanders.tick()
      t.equal(await arena.bystanders.flaw(), null)
    }
  }
  await noMoreMemoryThan(t, before)
  for (const client of all) client.socket.resume()
  for (const client of [overHttp, follower]) {
    let text = ''
    await eventuallyTrue('it is told of what it lost', () => {
      text = client.received.toString('latin1')
      return /dropped=\d+\n/.test(text)
    })
    const dropped = [...text.matchAll(/ dropped=(\d+)\n/g)].map((match) => Number(match[1]))
    const kept = text.match(/: flood: n=[1-9]/g)?.length ?? 0
    const lost = dropped.reduce((sum, count) => sum + count, 0)
    t.ok(kept + lost >= lines, `${kept} of ${lines} lines were kept, ${lost} dropped`)
  }
  t.comment(`${arena.server.services.get(eventBuffer).stats().behind - behind} fell behind`)
  for (const client of all) client.socket.destroy()
  await arena.settle(t, 'never read')
})

function randomFrame(): Buffer {
  if (integer(0, 8) === 0) return noise(integer(1, 60))
  const payload = noise(pick([0, 0, 1, 5, 125, 126, 300]))
  const good = integer(0, 2) === 0
  const opcode = good ? pick([0, 1, 2, 9, 10]) : integer(0, 16)
  const announced = pick([0n, 125n, 126n, 65_535n, 2n ** 32n, 2n ** 53n, 2n ** 64n - 1n])
  return frame(opcode, payload, {
    fin: integer(0, 4) > 0,
    reserved: good ? 0 : pick([0, 0, 0, 1, 4, 7]),
    masked: good || integer(0, 4) > 0,
    ...(!good && integer(0, 6) === 0 ? { length: announced } : {}),
  })
}

/** Bytes of a head changed, left out or put in. */
function randomHead(): Buffer {
  const head = Buffer.from(handshake(pick(endpoints)))
  const at = integer(0, head.length)
  if (integer(0, 3) === 0) return head
  if (integer(0, 2) === 0) head[at] = pick([0, 10, 13, 32, 44, 58, 255, integer(0, 256)])
  else return Buffer.concat([head.subarray(0, at), noise(integer(0, 4)), head.subarray(at + 1)])
  return head
}

async function leave({ socket }: HostileClient): Promise<void> {
  const how = integer(0, 4)
  if (how === 0) socket.resetAndDestroy()
  else if (how === 1) socket.end()
  else if (how === 2) socket.write(closeFrame(1000))
  if (how < 3) await nextTurn()
  socket.destroy()
}

t.test(`anything at all, FUZZ_SEED=${seed}`, async (t) => {
  const before = heapBytes()
  let wrong = 0
  for (let done = 0; done < connections; done += atATime) {
    const some = Array.from({ length: atATime }, async () => {
      const client = await HostileClient.open(arena.port)
      const head = integer(0, 2) === 0 ? Buffer.from(handshake(pick(endpoints))) : randomHead()
      const together = integer(0, 3) === 0
      if (!together) await client.write(head)
      if (integer(0, 4) > 0 && !together && head.includes('\r\n\r\n')) {
        for (let turn = 0; turn < turnsMax && client.statuses.length === 0; turn++) await nextTurn()
      }
      const frames = Buffer.concat(Array.from({ length: integer(0, 12) }, randomFrame))
      await client.write(together ? Buffer.concat([head, frames]) : frames)
      if (client.statuses.some((status) => status >= 500 && status !== 503)) wrong += 1
      await leave(client)
    })
    await Promise.all(some)
    await arena.bystanders.tick()
  }
  t.equal(wrong, 0, 'no answer is a failure of the server')
  await arena.settle(t, 'anything')
  await noMoreMemoryThan(t, before)
})

t.test('opened and closed again and again', async (t) => {
  const before = heapBytes()
  for (let done = 0; done < connections; done += atATime) {
    const some = Array.from({ length: atATime }, async () => {
      const client = await HostileClient.open(arena.port)
      const target = pick(endpoints)
      const http = integer(0, 2) === 0
      await client.write(http ? `GET ${target} HTTP/1.1${stops}` : handshake(target))
      if (integer(0, 2) === 0 && !http) await client.status()
      await leave(client)
    })
    await Promise.all(some)
    await arena.bystanders.tick()
  }
  await arena.settle(t, 'cycles')
  await noMoreMemoryThan(t, before)
})
