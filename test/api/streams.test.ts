import { gunzipSync } from 'node:zlib'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { once } from 'node:events'
import t from 'tap'
import type { Route } from '../../src/api/route.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'

type Progress = { pages: number; ended: boolean }

/** Pages of rows, a hundred each; counts how far it was read. */
async function* pages(count: number, progress: Progress, failAt = Infinity) {
  try {
    for (let page = 0; page < count; page += 1) {
      if (page === failAt) throw new Error('the disk is gone')
      progress.pages += 1
      yield Array.from({ length: 100 }, (_, n) => ({ n: page * 100 + n, pad: 'x'.repeat(80) }))
    }
  } finally {
    progress.ended = true
  }
}

async function* forever(progress: Progress) {
  try {
    for (;;) {
      progress.pages += 1
      yield Buffer.alloc(16_384)
    }
  } finally {
    progress.ended = true
  }
}

/** Each a moment after the one before; what fails does so in place of the last. */
async function* chunks(count: number, fails: boolean, progress: Progress) {
  try {
    for (let chunk = 1; chunk <= count; chunk += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (fails && chunk === count) throw new MusterError('not_found', 'there is no such file')
      yield Buffer.from('x')
    }
  } finally {
    progress.ended = true
  }
}

/** Has nothing to say until it is ended. */
function silence(progress: Progress): AsyncIterableIterator<Buffer> {
  const end = Promise.withResolvers<IteratorResult<Buffer>>()
  return {
    next: () => {
      progress.pages += 1
      return end.promise
    },
    return: () => {
      progress.ended = true
      end.resolve({ done: true, value: undefined })
      return end.promise
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function server() {
  const progress: Progress = { pages: 0, ended: false }
  const routes: Route[] = [
    {
      method: 'GET',
      path: '/v1/pages/:count',
      handle: (request) => ({
        rows: pages(
          Number(request.parameter('count')),
          progress,
          request.search.integer('fail', { min: 0, max: 1_000_000 }) ?? Infinity,
        ),
      }),
    },
    { method: 'GET', path: '/v1/forever', handle: () => ({ stream: forever(progress) }) },
    { method: 'GET', path: '/v1/silence', handle: () => ({ stream: silence(progress) }) },
    {
      method: 'GET',
      path: '/v1/chunks/:count',
      handle: (request) => ({
        stream: chunks(Number(request.parameter('count')), request.search.flag('fail'), progress),
      }),
    },
    {
      method: 'GET',
      path: '/v1/text/:length',
      handle: (request) => ({ text: 'a'.repeat(Number(request.parameter('length'))) }),
    },
  ]
  const fake = apiFake({ routes })
  const port = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  return { http: fake.http, progress, port, url: `http://127.0.0.1:${port}` }
}

t.test('a list of any length is one JSON array', async (t) => {
  const { http, url } = await server()
  for (const count of [0, 1, 5, 60]) {
    const reply = await fetch(`${url}/v1/pages/${count}`)
    t.equal(reply.headers.get('content-type'), 'application/json')
    const rows = (await reply.json()) as { n: number }[]
    t.equal(rows.length, count * 100)
    t.ok(rows.every((row, at) => row.n === at))
  }
  for (const count of [0, 1, 20]) {
    const pretty = await (await fetch(`${url}/v1/pages/${count}?pretty`)).text()
    t.equal(pretty, `${JSON.stringify(JSON.parse(pretty), undefined, 4)}\n`)
  }
  await http.stop()
})

t.test('compression is for those who take it and what is worth it', async (t) => {
  const { http } = await server()
  const cases: readonly (readonly [path: string, accept: string | null, gzip: boolean])[] = [
    ['text/1025', 'gzip', true],
    ['text/1025', 'deflate, gzip;q=0.5', true],
    ['text/1025', '*', true],
    ['text/1025', 'GZIP;Q=1', true],
    ['text/1025', null, false],
    ['text/1025', 'br', false],
    ['text/1025', 'gzip;q=0', false],
    ['text/1025', 'gzip;q=0.000, *', false],
    ['text/1025', '*;q=0', false],
    ['text/1025', 'gzip;q=0.5, identity;q=0.9', false],
    ['text/1024', 'gzip', false],
    ['pages/60', 'gzip', true],
    ['pages/60', 'gzip;q=0', false],
    ['pages/1', 'gzip', true],
  ]
  for (const [path, accept, gzip] of cases) {
    const headers = accept === null ? {} : { 'accept-encoding': accept }
    const reply = await http.app.inject({ url: `/v1/${path}`, headers })
    const name = `${path} ${accept}`
    t.equal(reply.headers['content-encoding'], gzip ? 'gzip' : undefined, name)
    t.equal(reply.headers['vary'], path === 'text/1024' ? undefined : 'Accept-Encoding', name)
    const body = gzip ? gunzipSync(reply.rawPayload) : reply.rawPayload
    t.ok(body.length >= 1_024, name)
    if (path.startsWith('pages')) t.ok(Array.isArray(JSON.parse(body.toString())), name)
  }
  await http.stop()
})

t.test('HEAD of a stream has its head, and the source is ended', async (t) => {
  const { http, progress } = await server()
  const reply = await http.app.inject({ method: 'HEAD', url: '/v1/pages/1000' })
  t.equal(reply.body, '')
  t.ok(progress.ended)
  t.ok(progress.pages < 20)
  await http.stop()
})

t.test('a source that fails before the first byte is an error like any other', async (t) => {
  const { http, url } = await server()
  const reply = await fetch(`${url}/v1/pages/5?fail=1`)
  t.equal(reply.status, 500)
  t.match(await reply.text(), /^internal error, request/)
  await http.stop()
})

t.test('so is a stream of bytes; one that is empty is an answer', async (t) => {
  const { http, url, progress } = await server()
  const failed = await fetch(`${url}/v1/chunks/1?fail`)
  t.equal(failed.status, 404)
  t.equal(await failed.text(), 'there is no such file')
  t.ok(progress.ended)
  for (const count of [0, 1, 3]) {
    const reply = await fetch(`${url}/v1/chunks/${count}`)
    t.equal(reply.status, 200)
    t.equal(await reply.text(), 'x'.repeat(count))
  }
  const cut = await fetch(`${url}/v1/chunks/3?fail`)
  t.equal(cut.status, 200)
  await t.rejects(cut.text())
  await http.stop()
})

t.test('a client that leaves before the first byte ends the source', async () => {
  const { http, port, progress } = await server()
  const asked = httpRequest({ port, host: '127.0.0.1', path: '/v1/silence' })
  asked.on('error', () => {})
  asked.end()
  await eventuallyTrue('it is read', () => progress.pages > 0)
  asked.destroy()
  await eventuallyTrue('it is ended', () => progress.ended)
  await http.stop()
})

t.test(
  'a source that fails later breaks the connection: half an answer is not an answer',
  async (t) => {
    const { http, url } = await server()
    const reply = await fetch(`${url}/v1/pages/500?fail=400`)
    t.equal(reply.status, 200)
    await t.rejects(reply.text())
    await http.stop()
  },
)

t.test('a stream that has nothing to say for a while says that it has begun', async (t) => {
  const gate = Promise.withResolvers<void>()
  async function* late() {
    await gate.promise
    yield 'at last'
  }
  const routes: Route[] = [{ method: 'GET', path: '/v1/late', handle: () => ({ stream: late() }) }]
  const { http } = apiFake({ routes })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  const reply = await fetch(`http://127.0.0.1:${port}/v1/late`)
  t.equal(reply.status, 200)
  gate.resolve()
  t.equal(await reply.text(), 'at last')
  await http.stop()
})

t.test('a slow client slows the source, and when it leaves the source ends', async (t) => {
  const { http, progress, port } = await server()
  const request = httpRequest({ port, host: '127.0.0.1', path: '/v1/forever' }).end()
  const [reply] = (await once(request, 'response')) as [IncomingMessage]
  let last = -1
  await eventuallyTrue(
    'the source stands still',
    () => {
      const still = last === progress.pages
      last = progress.pages
      return still
    },
    { everyMs: 100 },
  )
  t.ok(progress.pages * 16_384 < 64 * 1024 * 1024, `${progress.pages} chunks are somewhere`)
  reply.destroy()
  await eventuallyTrue('the source ends', () => progress.ended)
  await eventuallyTrue('the request ends', () => http.underWayCount === 0)
  await http.stop()
})

t.test('a client that takes nothing is dropped', async (t) => {
  const progress: Progress = { pages: 0, ended: false }
  const fake = apiFake({
    routes: [{ method: 'GET', path: '/v1/forever', handle: () => ({ stream: forever(progress) }) }],
    http: { limits: { stallMs: 50 } },
  })
  const port = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  const request = httpRequest({ port, host: '127.0.0.1', path: '/v1/forever' }).end()
  const [reply] = (await once(request, 'response')) as [IncomingMessage]
  reply.on('error', () => {})
  await eventuallyTrue('the source ends', () => progress.ended)
  t.ok(progress.ended)
  reply.destroy()
  await fake.http.stop()
})

t.test('a hundred thousand rows pass without being held', async (t) => {
  const { http, url, progress } = await server()
  const reply = await fetch(`${url}/v1/pages/1000`)
  let length = 0
  let tail = ''
  const body = reply.body as AsyncIterable<Uint8Array> | null
  for await (const chunk of body ?? []) {
    length += chunk.length
    tail = Buffer.from(chunk).toString().slice(-1)
  }
  t.ok(length > 9_000_000)
  t.equal(tail, ']')
  t.ok(progress.ended)
  await http.stop()
})
