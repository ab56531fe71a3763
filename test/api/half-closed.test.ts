/** Clients that end their sending side: what they asked for is answered, and what waits for a change is not kept for them. */
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Route } from '../../src/api/route.ts'
import { ApiProxy } from '../../src/client-agent/proxy.ts'
import { serverStandIn, upstreamTo } from '../client-agent/server-stand-in.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { everything } from '../support/everything.ts'

const head = 'HTTP/1.1\r\nHost: localhost\r\n'
const body = '{"Value":"x"}'
const put = `PUT /v1/row/a ${head}Content-Length: ${body.length}\r\n\r\n${body}`
const get = `GET /v1/row/a ${head}\r\n`

async function* slowLines(): AsyncGenerator<string> {
  for (let n = 0; n < 3; n += 1) {
    await sleep(400)
    yield `line ${n}\n`
  }
}

async function* endless(signal: AbortSignal): AsyncGenerator<string> {
  yield 'begun\n'
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

function streamed(path: string, stream: (signal: AbortSignal) => AsyncGenerator<string>): Route {
  return { method: 'GET', path, handle: ({ signal }) => ({ stream: stream(signal) as never }) }
}

async function listening(t: Test) {
  const slow: Route = {
    method: 'PUT',
    path: '/v1/slow',
    async handle() {
      await sleep(800)
      return { text: 'written late' }
    },
  }
  const routes = [slow, streamed('/v1/lines', slowLines), streamed('/v1/endless', endless)]
  const { http } = apiFake({ routes })
  t.teardown(() => http.stop(0))
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  return { http, port }
}

/** Says it, and that it says nothing more. */
function saying(port: number, text: string): Socket {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  socket.end(text)
  return socket
}

t.test('what was asked for is answered, and the connection ends', async (t) => {
  const { http, port } = await listening(t)
  t.match(await everything(saying(port, put)), /^HTTP\/1\.1 200 OK[^]*\{"Index":\d+\}$/)
  t.match(await everything(saying(port, get)), /^HTTP\/1\.1 200 OK/)
  t.match(await everything(saying(port, put + get)), /200 OK[^]*"Index"[^]*200 OK/)
  const late = `PUT /v1/slow ${head}Content-Length: 0\r\n\r\n`
  t.match(await everything(saying(port, late)), /written late$/)
  t.match(await everything(saying(port, `GET /v1/lines ${head}\r\n`)), /line 2\n\r\n0\r\n\r\n$/)
  t.equal(http.underWayCount, 0)
  t.equal(await everything(saying(port, '')), '', 'nothing was asked')
})

t.test('what waits is freed at once', async (t) => {
  const { http, port } = await listening(t)
  await everything(saying(port, put + put + put))
  for (const path of ['/v1/row/a?index=1000&wait=60s', '/v1/endless']) {
    const startMs = Date.now()
    const socket = saying(port, `GET ${path} ${head}\r\n`)
    await everything(socket)
    await eventuallyTrue(`${path} is over`, () => http.underWayCount === 0)
    t.ok(Date.now() - startMs < 10_000, path)
  }
  const due = `GET /v1/row/a?index=1&wait=60s ${head}\r\n`
  t.match(await everything(saying(port, due)), /^HTTP\/1\.1 200 OK/, 'what has come is told')
})

t.test('a client agent answers too', async (t) => {
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    if (request.url?.includes('index') === true) return
    request.on('end', () => setTimeout(() => response.end('of a server'), 400))
  })
  const { route } = new ApiProxy(
    upstreamTo(t, () => [place]),
    () => {},
  )
  const { http } = apiFake({ http: { elsewhere: { route, websocketPaths: [], publicPaths: [] } } })
  t.teardown(() => http.stop(0))
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  const write = `PUT /v1/kv/a ${head}Content-Length: 1\r\n\r\nx`
  t.match(await everything(saying(port, write)), /^HTTP\/1\.1 200 OK[^]*of a server/)
  t.match(await everything(saying(port, `GET /v1/kv/a ${head}\r\n`)), /of a server/)
  const waits = `GET /v1/kv/a?index=9 ${head}\r\n`
  t.notMatch(await everything(saying(port, waits)), '200 OK')
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})
