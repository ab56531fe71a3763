import { connect } from 'node:net'
import { once } from 'node:events'
import t from 'tap'
import type { HttpLimits } from '../../src/api/http-limits.ts'
import type { Route } from '../../src/api/route.ts'
import { apiFake, type ApiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { everything } from '../support/everything.ts'

const upload: Route = {
  method: 'PUT',
  path: '/v1/upload',
  body: 'stream',
  bodyBytesMax: 200_000,
  async handle(request) {
    let length = 0
    for await (const chunk of request.stream()) length += chunk.length
    return { json: { length } }
  },
}

const tiny: Route = {
  method: 'PUT',
  path: '/v1/tiny',
  body: 'bytes',
  bodyBytesMax: 10,
  handle: (request) => ({ bytes: request.bytes, type: 'text/plain' }),
}

type Listening = ApiFake & { readonly port: number }

async function listening(limits: Partial<HttpLimits> = {}): Promise<Listening> {
  const fake = apiFake({ routes: [upload, tiny], http: { limits } })
  fake.state.put('a', 1)
  return { ...fake, port: await fake.http.listen({ host: '127.0.0.1', port: 0 }) }
}

/** Writes the pieces as they are and resolves with all that comes until the server closes. */
async function talk(port: number, ...pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const answer = everything(socket)
  for (const piece of pieces) {
    if (!socket.destroyed) await new Promise((resolve) => socket.write(piece, resolve))
  }
  return answer
}

const statuses = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])

const closing = 'Host: localhost\r\nConnection: close\r\n'

t.test('what is no HTTP gets one clear answer', async (t) => {
  const { http, port } = await listening()
  const cases: readonly (readonly [name: string, sent: string | Buffer, status: string])[] = [
    ['garbage', 'hello there\r\n\r\n', '400'],
    ['a TLS hello', Buffer.from([22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]), '400'],
    ['an absurd method', `FROBNICATE /v1/rows HTTP/1.1\r\n${closing}\r\n`, '400'],
    ['a method nobody serves', `PROPFIND /v1/rows HTTP/1.1\r\n${closing}\r\n`, '405'],
    ['an expectation', `GET /v1/rows HTTP/1.1\r\n${closing}Expect: tea\r\n\r\n`, '417'],
    ['no host', 'GET /v1/rows HTTP/1.1\r\nConnection: close\r\n\r\n', '400'],
    [
      'two lengths',
      `PUT /v1/tiny HTTP/1.1\r\n${closing}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`,
      '400',
    ],
    [
      'length and chunks',
      `PUT /v1/tiny HTTP/1.1\r\n${closing}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n`,
      '400',
    ],
    ['a header with NUL', `GET /v1/rows HTTP/1.1\r\n${closing}X-A: a\0b\r\n\r\n`, '400'],
    [
      'a huge header',
      `GET /v1/rows HTTP/1.1\r\n${closing}X-A: ${'a'.repeat(20_000)}\r\n\r\n`,
      '431',
    ],
    ['a header flood', `GET /v1/rows HTTP/1.1\r\n${closing}${'A: b\r\n'.repeat(4_000)}\r\n`, '431'],
    ['a huge path', `GET /v1/row/${'a'.repeat(20_000)} HTTP/1.1\r\n${closing}\r\n`, '431'],
    ['raw UTF-8 in the path', Buffer.from(`GET /v1/row/ä HTTP/1.1\r\n${closing}\r\n`), '400'],
    [
      'a broken byte in the path',
      Buffer.from(`GET /v1/row/\xff HTTP/1.1\r\n${closing}\r\n`, 'latin1'),
      '400',
    ],
    ['an absolute path', `GET http://localhost/v1/row/a HTTP/1.1\r\n${closing}\r\n`, '200'],
  ]
  for (const [name, sent, status] of cases) {
    const text = await talk(port, sent)
    t.equal(statuses(text)[0], status, name)
    t.equal(statuses(text).length, 1, name)
    t.match(text, /Connection: close/i, name)
  }
  t.equal((await fetch(`http://127.0.0.1:${port}/v1/row/a`)).status, 200, 'and it still serves')
  await http.stop()
})

t.test('a body over its bound is 413, declared or not, and the client sees it', async (t) => {
  const { http, port } = await listening()
  const declared = await talk(
    port,
    'PUT /v1/tiny HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n',
    Buffer.alloc(3_000_000),
  )
  t.same(statuses(declared), ['413'])
  t.match(declared, /the request body is too large: it has over 10 bytes$/)
  const chunked = await talk(
    port,
    'PUT /v1/tiny HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n',
    `ff\r\n${'a'.repeat(255)}\r\n`.repeat(50),
    '0\r\n\r\n',
  )
  t.same(statuses(chunked), ['413'])
  const streamed = await fetch(`http://127.0.0.1:${port}/v1/upload`, {
    method: 'PUT',
    body: new Uint8Array(300_000),
  })
  t.equal(streamed.status, 413)
  await http.stop()
})

t.test('chunked bodies within the bound are bodies like any other', async (t) => {
  const { http, port } = await listening()
  const text = await talk(
    port,
    `PUT /v1/tiny HTTP/1.1\r\n${closing}Transfer-Encoding: chunked\r\n\r\n`,
    '3\r\nabc\r\n',
    '4\r\ndefg\r\n0\r\n\r\n',
  )
  t.match(text, /^HTTP\/1\.1 200[^]*abcdefg$/)
  const reply = await fetch(`http://127.0.0.1:${port}/v1/upload`, {
    method: 'PUT',
    body: new Uint8Array(150_000),
  })
  t.same(await reply.json(), { length: 150_000 })
  await http.stop()
})

t.test('who sends its head or its body by the drop is told 408', async (t) => {
  const { http, port } = await listening({ headMs: 50, bodyMs: 50, bodyIdleMs: 50, lingerMs: 20 })
  const [head, body, streamed] = await Promise.all([
    talk(port, 'GET /v1/rows HTTP/1.1\r\nHost'),
    talk(port, 'PUT /v1/tiny HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n', 'ab'),
    talk(port, 'PUT /v1/upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n', 'ab'),
  ])
  t.same(statuses(head), ['408'])
  t.same(statuses(body), ['408'])
  t.match(body, /did not arrive within 50 ms/)
  t.ok(statuses(streamed).length === 0 || statuses(streamed)[0] === '408')
  await http.stop()
})

t.test('pipelined requests are answered in order', async (t) => {
  const { http, port } = await listening()
  const put = (value: string) =>
    `PUT /v1/tiny HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${value.length}\r\n\r\n${value}`
  const text = await talk(
    port,
    `${put('one')}GET /v1/row/none HTTP/1.1\r\nHost: localhost\r\n\r\n${put('two')}GET /nope HTTP/1.1\r\n${closing}\r\n`,
  )
  t.same(statuses(text), ['200', '404', '200', '404'])
  t.match(text, /one[^]*row not found[^]*two/)
  await http.stop()
})

t.test('one connection has so many requests under way and no more', async (t) => {
  const fake = await listening({ pipelinedMax: 2 })
  const socket = connect(fake.port, '127.0.0.1')
  const answer = everything(socket)
  const waiting = 'GET /v1/row/a?index=1&wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(2)
  // One packet: all are parsed in one go.
  socket.write(`${waiting}GET /v1/row/a HTTP/1.1\r\n${closing}\r\n`)
  const [parked, underWay] = [() => fake.dispatcher.parkedCount, () => fake.http.underWayCount]
  await eventuallyTrue('one parked, one behind it', () => parked() === 1 && underWay() === 2)
  fake.state.put('a', 2)
  t.same(statuses(await answer), ['200', '200', '503'])
  await fake.http.stop()
})

t.test('garbage behind a waiting request ends the connection without a false answer', async (t) => {
  const fake = await listening()
  const socket = connect(fake.port, '127.0.0.1')
  const answer = everything(socket)
  socket.write('GET /v1/row/a?index=1&wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await eventuallyTrue('parked', () => fake.dispatcher.parkedCount === 1)
  socket.write('garbage\r\n\r\n')
  t.equal(await answer, '')
  await eventuallyTrue('unparked', () => fake.dispatcher.parkedCount === 0)
  await fake.http.stop()
})

t.test('one address has so many connections and no more', async (t) => {
  const { http, port } = await listening({ connectionsPerClientMax: 2 })
  const first = connect(port, '127.0.0.1')
  const second = connect(port, '127.0.0.1')
  await Promise.all([once(first, 'connect'), once(second, 'connect')])
  const answered = once(second, 'data')
  second.write('GET /v1/row/a HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await answered
  t.match(await talk(port, ''), /^HTTP\/1\.1 429 [^]*http_max_conns_per_client is 2$/)
  t.equal(http.refused.connections, 1)
  first.destroy()
  await eventuallyTrue('a place is free', async () => {
    const text = await talk(port, `GET /v1/row/a HTTP/1.1\r\n${closing}\r\n`)
    return statuses(text)[0] === '200'
  })
  second.destroy()
  await http.stop()
})

t.test('a client that hangs up frees its wait', async (t) => {
  const fake = await listening()
  const socket = connect(fake.port, '127.0.0.1')
  socket.write('GET /v1/row/a?index=1&wait=60s HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await eventuallyTrue('parked', () => fake.dispatcher.parkedCount === 1)
  socket.destroy()
  await eventuallyTrue('unparked', () => fake.dispatcher.parkedCount === 0)
  t.equal(fake.state.parkedCount, 0)
  await fake.http.stop()
})

t.test('too many requests at a time are told to come back', async (t) => {
  const fake = await listening({ requestsMax: 1 })
  const waiting = fetch(`http://127.0.0.1:${fake.port}/v1/row/a?index=1&wait=60s`)
  await eventuallyTrue('parked', () => fake.dispatcher.parkedCount === 1)
  const refused = await fetch(`http://127.0.0.1:${fake.port}/v1/row/a`)
  t.equal(refused.status, 503)
  t.equal(refused.headers.get('retry-after'), '1')
  fake.state.put('a', 2)
  t.equal((await waiting).status, 200)
  await fake.http.stop()
})

t.test('a stop answers those who wait, finishes what runs and ends the connections', async (t) => {
  const fake = await listening()
  const second = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  const waiting = fetch(`http://127.0.0.1:${fake.port}/v1/row/a?index=1&wait=60s`)
  const idle = connect(second, '127.0.0.1')
  await once(idle, 'connect')
  await eventuallyTrue('parked', () => fake.dispatcher.parkedCount === 1)
  const ended = once(idle, 'close')
  await fake.http.stop()
  const reply = await waiting
  t.equal(reply.status, 200)
  t.equal(reply.headers.get('connection'), 'close')
  await ended
  await t.rejects(fetch(`http://127.0.0.1:${second}/v1/row/a`))
  await fake.http.stop()
})

t.test('a request that does not end is broken when the grace is over', async (t) => {
  let aborted = false
  const stuck: Route = {
    method: 'GET',
    path: '/v1/stuck',
    handle: (request) =>
      new Promise((resolve) => {
        request.signal.addEventListener('abort', () => {
          aborted = true
          resolve({})
        })
      }),
  }
  const fake = apiFake({ routes: [stuck] })
  const port = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  const asking = fetch(`http://127.0.0.1:${port}/v1/stuck`).catch((error: unknown) => error)
  await eventuallyTrue('under way', () => fake.http.underWayCount === 1)
  await fake.http.stop(20)
  t.ok((await asking) instanceof Error)
  t.ok(aborted)
})
