/** A head that is written as text is the one that Node would write. */
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Head, linesOf } from '../../src/api/head.ts'
import { systemClock } from '../../src/lib/clock.ts'

const keepAliveMs = 75_000

type Write = (response: ServerResponse) => void

/** All that a server says on one connection until it is closed, or has answered so many requests. Its dates are cut out. */
async function said(t: Test, write: Write, requests: string, answers: number): Promise<string> {
  let left = answers
  const server = createServer({ keepAliveTimeout: keepAliveMs }, ({ socket }, response) => {
    response.once('finish', () => {
      left -= 1
      if (left === 0) socket.end()
    })
    write(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.setEncoding('latin1')
  socket.write(requests)
  let text = ''
  for await (const piece of socket) text += piece as string
  return text.replaceAll(/Date: [^\r]+ GMT\r\n/g, 'Date\r\n')
}

const lines = [
  ['Content-Type', 'application/json'],
  ['X-Twice', 'a'],
  ['X-Twice', 'b'],
] as const
const body = '{"ä":"…"}'

function byHead(status: number, text: string, length: number | null): Write {
  return (response) => {
    const head = new Head(status, systemClock)
    for (const [name, value] of lines) head.set(name, value)
    head.setAll(['X-One', 'X-Other'], 7)
    head.addMade(linesOf(['X-Made'], true))
    if (length !== null) head.set('Content-Length', length)
    head.writeTo(response)
    response.end(text)
  }
}

function byNode(status: number, text: string, length: number | null): Write {
  return (response) => {
    const made = [...lines.flat(), 'X-One', '7', 'X-Other', '7', 'X-Made', 'true']
    if (length !== null) made.push('Content-Length', String(length))
    response.writeHead(status, made)
    response.end(text)
  }
}

const host = 'Host: a\r\n'
const get = `GET / HTTP/1.1\r\n${host}\r\n`
const length = Buffer.byteLength(body)

for (const [what, requests, answers, status, text, told] of [
  ['an answer', get, 1, 200, body, length],
  ['one without a body', get, 1, 404, '', 0],
  ['answers one after another', get + get + get, 3, 200, body, length],
  ['an answer to HEAD', `HEAD / HTTP/1.1\r\n${host}\r\n`, 1, 200, '', length],
  ['no content', get, 1, 204, '', null],
  ['not modified', get, 1, 304, '', null],
  ['a status without a name', get, 1, 499, 'x', 1],
  ['a body of unknown length', get, 1, 200, body, null],
  ['the last answer', `GET / HTTP/1.1\r\n${host}Connection: close\r\n\r\n`, 1, 200, body, length],
  ['an answer to HTTP/1.0', `GET / HTTP/1.0\r\n\r\n`, 1, 200, body, length],
  [
    'an answer to HTTP/1.0 that stays',
    `GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`,
    1,
    200,
    body,
    length,
  ],
] as const) {
  void t.test(`${what} has the head that Node writes`, async (t) => {
    const own = await said(t, byHead(status, text, told), requests, answers)
    t.equal(own, await said(t, byNode(status, text, told), requests, answers))
    t.match(own, /^HTTP\/1\.1 \d+ .*\r\nContent-Type: application\/json\r\n/)
  })
}

void t.test('an answer that is the last because of a header that was set is closed', async (t) => {
  const own = await said(
    t,
    (response) => {
      response.setHeader('Connection', 'close')
      byHead(200, body, length)(response)
    },
    get,
    1,
  )
  t.match(own, /\r\nConnection: close\r\n/)
  t.notMatch(own, 'keep-alive')
})

void t.test('nothing that ends a line, or has no place in one, gets into a head', async (t) => {
  const head = new Head(200, systemClock)
  const values = ['a\r\nSet-Cookie: b', 'a\nb', 'a\rb', 'a\0b', 'a\u{1f512}b']
  for (const value of values) {
    t.throws(() => head.set('X-A', value), { code: 'ERR_INVALID_CHAR' }, JSON.stringify(value))
    t.throws(() => head.setAll(['X-A', 'X-B'], value), { code: 'ERR_INVALID_CHAR' })
    t.throws(() => head.add(['X-A', value]), { code: 'ERR_INVALID_CHAR' })
  }
  for (const name of ['X: A', 'X\r\nA', '', 'X A']) {
    t.throws(() => head.add([name, 'a']), { code: 'ERR_INVALID_HTTP_TOKEN' }, JSON.stringify(name))
  }
})

void t.test('the date is of the second', async (t) => {
  const server = createServer({ keepAliveTimeout: keepAliveMs }, (_, response) => {
    byHead(200, 'x', 1)(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const seen = new Set<number>()
  while (seen.size < 2) {
    const beforeMs = Date.now()
    const text = (await fetch(url)).headers.get('date') ?? ''
    const ms = Date.parse(text)
    if (!(ms > beforeMs - 1_000 && ms <= Date.now())) {
      t.fail(`${text} is no date of ${beforeMs}`)
      return
    }
    seen.add(ms)
  }
  t.equal(Math.abs([...seen].reduce((first, second) => second - first)), 1_000)
})
