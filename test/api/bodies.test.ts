/** All bodies together: how much they may hold, who may send large ones, and what becomes of clients that stand still. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { BodyBudget, budgetBytesMin } from '../../src/api/body-budget.ts'
import { BodyPieces } from '../../src/api/body-pieces.ts'
import type { HttpLimits } from '../../src/api/http-limits.ts'
import type { Route } from '../../src/api/route.ts'
import type { LeastRight } from '../../src/rpc/method.ts'
import { denied } from '../../src/rpc/refusal.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { everything } from '../support/everything.ts'

const KiB = 1_024
const MiB = 1_024 * KiB

t.test('large bodies leave a quarter of the budget to small ones', (t) => {
  const budget = new BodyBudget(400 * KiB)
  const large = { bytes: 0, large: false }
  t.ok(budget.grow(large, 60 * KiB))
  t.ok(budget.grow(large, 240 * KiB), 'three quarters, what it held as a small one included')
  t.notOk(budget.grow(large, 1))
  t.equal(budget.used, 300 * KiB, 'what finds no room takes none')
  const small = { bytes: 0, large: false }
  t.ok(budget.grow(small, 64 * KiB))
  t.notOk(budget.grow(small, 1), 'it would be a large one now')
  t.ok(budget.grow({ bytes: 0, large: false }, 36 * KiB))
  t.notOk(budget.grow({ bytes: 0, large: false }, 1))
  budget.release(large)
  budget.release(large)
  t.equal(budget.used, 100 * KiB)
  t.ok(budget.grow(small, 1))
  t.equal(budgetBytesMin(3 * MiB), 4 * MiB)
  t.end()
})

t.test('a body byte by byte holds at most twice its bytes', (t) => {
  for (const announced of [0, 50_000]) {
    const pieces = new BodyPieces(true)
    let held = 0
    for (let at = 0; at < 50_000; at += 1) {
      const piece = Buffer.from([at % 251])
      const cost = pieces.costOf(piece, announced)
      pieces.add(piece, cost)
      held += cost
      if (held > Math.max(4_096, 2 * pieces.length)) t.fail(`${held} for ${pieces.length}`)
    }
    t.same(pieces.whole(), Buffer.from(Array.from({ length: 50_000 }, (_, at) => at % 251)))
    if (announced > 0) t.equal(held, announced)
  }
  t.same(new BodyPieces(true).whole(), new Uint8Array(0))
  t.end()
})

t.test(
  'pieces that nobody else has give their memory back at once, others stay as they are',
  (t) => {
    const pieceOf = () => Buffer.from(new Uint8Array(10_000).fill(7).buffer)
    for (const owned of [true, false]) {
      const pieces = new BodyPieces(owned)
      const all = [pieceOf(), pieceOf(), pieceOf()]
      for (const piece of all) pieces.add(piece, pieces.costOf(piece, 0))
      t.equal(pieces.length, 30_000)
      t.ok(pieces.whole().every((byte) => byte === 7))
      t.same(
        all.map(({ length }) => length),
        owned ? [0, 0, 0] : [10_000, 10_000, 10_000],
      )
      const whole = pieces.whole()
      pieces.drop()
      t.equal(whole.length, owned ? 0 : 30_000)
      t.equal(pieces.length, 0)
    }
    const slab = new ArrayBuffer(100)
    const part = new BodyPieces(true)
    part.add(Buffer.from(slab, 10, 20), 20)
    part.drop()
    t.equal(slab.byteLength, 100, 'memory that is shared with others is not freed')
    t.end()
  },
)

const least: LeastRight = { resource: 'key', access: 'write' }
let finish: (() => void) | null = null

const routes: readonly Route[] = [
  {
    method: 'PUT',
    path: '/v1/large',
    body: 'bytes',
    bodyBytesMax: 2 * MiB,
    atLeast: [least],
    handle: ({ bytes }) => ({ json: bytes.length }),
  },
  {
    method: 'PUT',
    path: '/v1/slow',
    body: 'bytes',
    bodyBytesMax: 2 * MiB,
    handle: async ({ bytes }) => {
      await new Promise<void>((resolve) => (finish = resolve))
      return { json: bytes.length }
    },
  },
  {
    method: 'PUT',
    path: '/v1/refused',
    body: 'stream',
    handle: () => Promise.reject(denied('no')),
  },
  {
    method: 'PUT',
    path: '/v1/stream',
    body: 'stream',
    async handle(request) {
      let length = 0
      for await (const chunk of request.stream()) length += chunk.length
      return { json: length }
    },
  },
]

async function serve(t: Test, limits: Partial<HttpLimits>, writers: readonly string[] = ['good']) {
  const fake = apiFake({
    routes,
    http: { limits: { lingerMs: 20, ...limits } },
    dispatch: {
      authorizer: {
        resolve: ({ token }) => ({
          may: () => true,
          maySome: ({ resource, access }) =>
            resource === 'key' && access === 'write' && writers.includes(token ?? ''),
        }),
      },
    },
  })
  const port = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => fake.http.stop(0))
  return { ...fake, port }
}

/** A body that is announced, or in chunks, and stops after so many bytes. */
async function begin(
  port: number,
  path: string,
  { announced, sent, token = '' }: { announced: number | null; sent: number; token?: string },
): Promise<{ readonly socket: Socket; readonly answer: Promise<string> }> {
  const socket = connect(port, '127.0.0.1')
  const answer = everything(socket)
  await once(socket, 'connect')
  const length = announced === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${announced}`
  const head = `PUT ${path} HTTP/1.1\r\nHost: localhost\r\nX-Consul-Token: ${token}\r\n${length}\r\n\r\n`
  socket.write(head)
  const body = Buffer.alloc(sent, 'a')
  socket.write(announced === null ? `${sent.toString(16)}\r\n${body.toString()}\r\n` : body)
  return { socket, answer }
}

t.test('a client without the right is refused before more than 64 KiB are read', async (t) => {
  const { port, http } = await serve(t, {})
  for (const announced of [2 * MiB, null]) {
    const { answer } = await begin(port, '/v1/large', { announced, sent: 100 * KiB })
    t.match(
      await answer,
      /^HTTP\/1\.1 403 [^]*Connection: close[^]*Permission denied: the request has no token, and anonymous requests lack permission 'key:write', request \S+$/i,
    )
  }
  const small = await fetch(`http://127.0.0.1:${port}/v1/large`, {
    method: 'PUT',
    body: new Uint8Array(64 * KiB),
  })
  t.equal(await small.json(), 64 * KiB, 'small bodies are for the method to judge')
  for (const chunked of [false, true]) {
    const bytes = new Uint8Array(MiB)
    const body = chunked ? new Blob([bytes]).stream() : bytes
    const reply = await fetch(`http://127.0.0.1:${port}/v1/large`, {
      method: 'PUT',
      headers: { 'x-service-token': 'good' },
      body,
      duplex: 'half',
    })
    t.equal(await reply.json(), MiB)
  }
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('a body that stands still is cut off, and what it held is free', async (t) => {
  const { port, http } = await serve(t, { bodyStallMs: 50, bodyIdleMs: 50 })
  const { answer } = await begin(port, '/v1/slow', { announced: MiB, sent: 1_000 })
  t.match(await answer, /^HTTP\/1\.1 408 [^]*no more of the request body came for 50 ms$/)
  const streamed = await begin(port, '/v1/stream', { announced: MiB, sent: 1_000 })
  t.match(await streamed.answer, /^(HTTP\/1\.1 408 [^]*)?$/)
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('a stream that comes by the drop is cut off in the end', async (t) => {
  const { port } = await serve(t, { bodyIdleMs: 200, bodyBytesPerSecondMin: 1_000_000 })
  const { socket, answer } = await begin(port, '/v1/stream', { announced: MiB, sent: 1 })
  const drops = setInterval(() => socket.write('a'), 20)
  t.teardown(() => clearInterval(drops))
  t.match(await answer, /^(HTTP\/1\.1 408 [^]*)?$/)
})

t.test('where there is no room a body is 503, small ones come through', async (t) => {
  const { port, http } = await serve(t, { bodiesBytesMax: MiB })
  const first = await begin(port, '/v1/slow', { announced: 700 * KiB, sent: 700 * KiB })
  await eventuallyTrue('it is held', () => finish !== null)
  const second = await begin(port, '/v1/slow', { announced: 700 * KiB, sent: 700 * KiB })
  t.match(
    await second.answer,
    /^HTTP\/1\.1 503 [^]*Retry-After: 1[^]*limits\.http_bodies_bytes_max/i,
  )
  t.equal(http.refused.bodies, 1)
  const small = await fetch(`http://127.0.0.1:${port}/v1/large`, {
    method: 'PUT',
    body: new Uint8Array(60 * KiB),
  })
  t.equal(small.status, 200)
  finish?.()
  await once(first.socket, 'data')
  first.socket.destroy()
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
  const third = await fetch(`http://127.0.0.1:${port}/v1/large`, {
    method: 'PUT',
    headers: { 'x-service-token': 'good' },
    body: new Uint8Array(700 * KiB),
  })
  t.equal(third.status, 200, 'there is room again')
})

t.test('a body that has been slow for long makes room for another', async (t) => {
  const { port } = await serve(t, { bodiesBytesMax: MiB })
  const slow = await begin(port, '/v1/slow', { announced: 2 * MiB, sent: 600 * KiB })
  await eventuallyTrue('the other comes through', async () => {
    const reply = await fetch(`http://127.0.0.1:${port}/v1/large`, {
      method: 'PUT',
      headers: { 'x-service-token': 'good' },
      body: new Uint8Array(600 * KiB),
    })
    return reply.status === 200
  })
  t.match(await slow.answer, /^HTTP\/1\.1 503 /)
})

t.test('a client that asks before it sends is told to once its request was judged', async (t) => {
  const { port } = await serve(t, {})
  /** Sends its body when it is told to. */
  const ask = async (path: string, head: string, body: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    const answer = everything(socket)
    socket.once('data', (data: Buffer) => {
      if (data.toString().startsWith('HTTP/1.1 100 Continue\r\n\r\n')) socket.write(body)
    })
    const host = head.includes('Host:') ? '' : 'Host: localhost\r\n'
    socket.write(
      `PUT ${path} HTTP/1.1\r\n${host}${head}Expect: 100-continue\r\nConnection: close\r\n\r\n`,
    )
    return answer
  }
  const token = 'X-Consul-Token: good\r\n'
  const large = `Content-Length: ${100 * KiB}\r\n`
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const body = 'a'.repeat(100 * KiB)
  const inChunks = '1\r\na\r\n0\r\n\r\n'
  // oxfmt-ignore
  const cases: [name: string, path: string, head: string, body: string, answer: RegExp][] = [
    ['a body that may come',      '/v1/large',   token + large,              body,     /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*\r\n\r\n102400$/],
    ['one in chunks',             '/v1/large',   token + chunked,            inChunks, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*\r\n\r\n1$/],
    ['a streamed one',            '/v1/stream',  large,                      body,     /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 [^]*\r\n\r\n102400$/],
    ['no right',                  '/v1/large',   large,                      body,     /^HTTP\/1\.1 403 /],
    ['no right, in chunks',       '/v1/large',   chunked,                    inChunks, /^HTTP\/1\.1 403 /],
    ['a route that does not read', '/v1/refused', large,                     body,     /^HTTP\/1\.1 403 /],
    ['a foreign host',            '/v1/large',   `Host: a.example\r\n${token}${large}`, body, /^HTTP\/1\.1 403 /],
    ['a page of another origin',  '/v1/large',   `Origin: http://a.example\r\n${token}${large}`, body, /^HTTP\/1\.1 403 /],
    ['a body that is too large',  '/v1/large',   `${token}Content-Length: ${3 * MiB}\r\n`, body, /^HTTP\/1\.1 413 /],
    ['no such path',              '/v1/nothing', large,                      body,     /^HTTP\/1\.1 404 /],
    ['a broken path',             '/v1/%zz',     large,                      body,     /^HTTP\/1\.1 400 /],
  ]
  for (const [name, path, head, sent, answer] of cases) {
    t.match(await ask(path, head, sent), answer, name)
  }
})

t.test('a path that is not there is said so, however long the body', async (t) => {
  const { port } = await serve(t, { lingerBytesMax: MiB })
  const ask = async (path: string, head: string, body: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    const answer = everything(socket)
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${head}\r\n`)
    socket.write(body)
    return answer
  }
  const long = 'a'.repeat(300 * KiB)
  const declared = `Content-Length: ${300 * KiB}\r\n`
  const chunked = 'Transfer-Encoding: chunked\r\n'
  const inChunks = `${(300 * KiB).toString(16)}\r\n${long}\r\n0\r\n\r\n`
  t.match(await ask('/v1/nothing', declared, long), /^HTTP\/1\.1 404 [^]*no such path/)
  t.match(await ask('/v1/nothing', chunked, inChunks), /^HTTP\/1\.1 404 [^]*no such path/)
  t.match(await ask('/v1/%zz', declared, long), /^HTTP\/1\.1 400 /)
  const endless = `Content-Length: ${9 * MiB}\r\n`
  t.match(await ask('/v1/nothing', endless, 'a'.repeat(MiB + 1)), /^HTTP\/1\.1 404 /)
})
