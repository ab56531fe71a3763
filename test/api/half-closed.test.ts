/** Clients that end their sending side: what they asked for is answered, and what waits for a change is not kept for them. */
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Route } from '../../src/api/route.ts'
import type { HttpServerOptions } from '../../src/api/server.ts'
import { ApiProxy } from '../../src/client-agent/proxy.ts'
import type { Clock, Timer } from '../../src/lib/clock.ts'
import { serverStandIn, upstreamTo } from '../client-agent/server-stand-in.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { everything } from '../support/everything.ts'
import { manualClock } from '../support/manual-clock.ts'

const head = 'HTTP/1.1\r\nHost: localhost\r\n'
const body = '{"Value":"x"}'
const put = `PUT /v1/row/a ${head}Content-Length: ${body.length}\r\n\r\n${body}`
const get = `GET /v1/row/a ${head}\r\n`
/** Between two looks at a connection; the second is for streams. */
const lookMs: readonly [number, number] = [250, 2_000]

/** Where servers wait until the test lets them go on. */
function gate() {
  let waiting = Promise.withResolvers<() => void>()
  return {
    pass: () => new Promise<void>((resolve) => waiting.resolve(resolve)),
    async open(meanwhile: () => Promise<void>) {
      const go = await waiting.promise
      waiting = Promise.withResolvers()
      await meanwhile()
      go()
    },
  }
}

/** Moves as far as connections are to be looked at. */
function lookingClock() {
  const manual = manualClock()
  const waiting = new Set<Timer>()
  let looks = 0
  const clock: Clock = {
    ...manual,
    setTimer(ms, run) {
      if (!lookMs.includes(ms)) return manual.setTimer(ms, run)
      const timer = manual.setTimer(ms, () => {
        waiting.delete(timer)
        looks += 1
        run()
      })
      waiting.add(timer)
      return {
        cancel() {
          waiting.delete(timer)
          timer.cancel()
        },
      }
    },
  }
  const advance = () => manual.advance(lookMs[0])
  const look = async () => {
    const before = looks
    await eventuallyTrue('the connection is looked at', () => {
      advance()
      return looks > before
    })
  }
  /** Of what may take as many looks as it likes. */
  const until = (what: string, isSo: () => boolean) =>
    eventuallyTrue(what, () => {
      advance()
      return isSo()
    })
  return { clock, look, until, waitingCount: () => waiting.size }
}

async function* endless(signal: AbortSignal): AsyncGenerator<string> {
  yield 'begun\n'
  await new Promise((resolve) => signal.addEventListener('abort', resolve))
}

function streamed(path: string, stream: (signal: AbortSignal) => AsyncGenerator<string>): Route {
  return { method: 'GET', path, handle: ({ signal }) => ({ stream: stream(signal) as never }) }
}

async function listening(t: Test, http: Partial<HttpServerOptions> = {}) {
  const [steps, looking] = [gate(), lookingClock()]
  const slow: Route = {
    method: 'PUT',
    path: '/v1/slow',
    async handle() {
      await steps.pass()
      return { text: 'written late' }
    },
  }
  async function* lines(): AsyncGenerator<string> {
    for (let n = 0; n < 3; n += 1) {
      await steps.pass()
      yield `line ${n}\n`
    }
  }
  const routes = [slow, streamed('/v1/lines', lines), streamed('/v1/endless', endless)]
  const { http: server } = apiFake({ routes, http: { ...http, clock: looking.clock } })
  t.teardown(() => server.stop(0))
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  return { http: server, port, steps, ...looking }
}

/** Says it, and that it says nothing more. */
function saying(port: number, text: string): Socket {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  socket.end(text)
  return socket
}

t.test('what was asked for is answered, and the connection ends', async (t) => {
  const { http, port, steps, look, waitingCount } = await listening(t)
  t.match(await everything(saying(port, put)), /^HTTP\/1\.1 200 OK[^]*\{"Index":\d+\}$/)
  t.match(await everything(saying(port, get)), /^HTTP\/1\.1 200 OK/)
  t.match(await everything(saying(port, put + get)), /200 OK[^]*"Index"[^]*200 OK/)
  const late = `PUT /v1/slow ${head}Content-Length: 0\r\n\r\n`
  const written = everything(saying(port, late))
  await steps.open(look)
  t.match(await written, /written late$/)
  const lines = everything(saying(port, `GET /v1/lines ${head}\r\n`))
  for (let n = 0; n < 3; n += 1) await steps.open(look)
  t.match(await lines, /line 2\n\r\n0\r\n\r\n$/)
  t.equal(waitingCount(), 0, 'what was answered is not looked at any more')
  t.equal(http.underWayCount, 0)
  t.equal(await everything(saying(port, '')), '', 'nothing was asked')
})

t.test('what waits is freed at once', async (t) => {
  const { http, port, until, waitingCount } = await listening(t)
  await everything(saying(port, put + put + put))
  for (const path of ['/v1/row/a?index=1000&wait=60s', '/v1/endless']) {
    const socket = saying(port, `GET ${path} ${head}\r\n`)
    void everything(socket)
    await until(`${path} is freed`, () => socket.destroyed)
    await eventuallyTrue(`${path} is over`, () => http.underWayCount === 0)
  }
  const due = `GET /v1/row/a?index=1&wait=60s ${head}\r\n`
  t.match(await everything(saying(port, due)), /^HTTP\/1\.1 200 OK/, 'what has come is told')
  t.equal(waitingCount(), 0)
})

t.test('a client agent answers too', async (t) => {
  const server = gate()
  const place = await serverStandIn(t, (request, response) => {
    request.resume()
    if (request.url?.includes('index') === true) return
    request.on('end', () => void server.pass().then(() => response.end('of a server')))
  })
  const { route } = new ApiProxy(
    upstreamTo(t, () => [place]),
    () => {},
  )
  const elsewhere = { route, websocketPaths: [], publicPaths: [] }
  const { http, port, look, until } = await listening(t, { elsewhere })
  const write = everything(saying(port, `PUT /v1/kv/a ${head}Content-Length: 1\r\n\r\nx`))
  await server.open(look)
  t.match(await write, /^HTTP\/1\.1 200 OK[^]*of a server/)
  const read = everything(saying(port, `GET /v1/kv/a ${head}\r\n`))
  await server.open(look)
  t.match(await read, /of a server/)
  const waits = saying(port, `GET /v1/kv/a?index=9 ${head}\r\n`)
  const said = everything(waits)
  await until('it is freed', () => waits.destroyed)
  t.notMatch(await said, '200 OK')
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})
