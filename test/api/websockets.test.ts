/** A route's stream over WebSocket: chunks as messages, refusals as HTTP, and an end on either side. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { Route } from '../../src/api/route.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { apiFake } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { frame, handshake, HostileClient } from './fuzz/websocket-client.ts'

let ended = 0
let made = 0

/** `?to=` chunks; without it, as many as are taken until the client goes away. */
const routes: readonly Route[] = [
  {
    method: 'GET',
    path: '/v1/count',
    websocket: true,
    handle: ({ search, signal }) => {
      if (search.has('refuse')) throw new MusterError('permission_denied', 'Permission denied')
      if (search.has('plain')) return { text: 'no stream' }
      const to = search.integer('to', { min: 0, max: 100 })
      return { stream: count(to, search.has('bytes'), signal) }
    },
  },
  {
    method: 'GET',
    path: '/v1/room/:name/talk',
    websocket: true,
    handle: (request) => ({
      converse: async function* answers(said) {
        yield `hello ${request.parameter('name')}`
        try {
          for await (const message of said) {
            if (message === 'bye') return
            if (message === 'fail') throw new MusterError('unavailable', 'it is out of order')
            if (message === 'slow') await new Promise((resolve) => setTimeout(resolve, 300))
            yield message.toUpperCase()
          }
        } finally {
          ended += 1
        }
      },
    }),
  },
  {
    method: 'GET',
    path: '/v1/quiet',
    websocket: true,
    handle: ({ signal }) => ({ stream: quiet(signal) }),
  },
  { method: 'GET', path: '/v1/only-http', handle: () => ({ text: 'http' }) },
]

/** Says nothing, until its client goes away. */
async function* quiet(signal: AbortSignal): AsyncGenerator<string> {
  if (!signal.aborted) await once(signal, 'abort')
  yield* []
}

async function* count(to: number | null, bytes: boolean, signal: AbortSignal) {
  try {
    const last = to ?? Number.POSITIVE_INFINITY
    for (let n = 1; n <= last && !signal.aborted; n++) {
      made = n
      if (to === null) yield Buffer.alloc(100_000)
      else yield bytes ? Buffer.from(`${n}`) : `${n}`
    }
  } finally {
    ended += 1
  }
}

async function serve(t: Test, limits = {}) {
  const { http } = apiFake({ routes, http: { limits } })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => http.stop(0))
  return { http, port }
}

/** What a handshake is answered: a plain response, or a socket. */
async function shake(
  port: number,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: string; socket: Socket | null; id: string }> {
  const sent = httpRequest({
    host: '127.0.0.1',
    port,
    path,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-version': '13',
      ...headers,
    },
  })
  sent.end()
  return new Promise((resolve, reject) => {
    sent.on('error', reject)
    sent.on('upgrade', (response: IncomingMessage, socket: Socket) => {
      socket.on('error', () => {})
      const { statusCode: status = 0, headers } = response
      resolve({ status, body: '', socket, id: String(headers['x-request-id']) })
    })
    sent.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (text: string) => (body += text))
      const { statusCode: status = 0, headers } = response
      const id = String(headers['x-request-id'])
      response.on('end', () => resolve({ status, body, socket: null, id }))
    })
  })
}

async function messages(url: string): Promise<{ data: unknown[]; code: number }> {
  const websocket = new WebSocket(url)
  websocket.binaryType = 'arraybuffer'
  const data: unknown[] = []
  websocket.addEventListener('message', (event) => {
    const { data: got } = event as { readonly data: unknown }
    data.push(got instanceof ArrayBuffer ? Buffer.from(got) : got)
  })
  const [event] = (await once(websocket, 'close')) as [CloseEvent]
  return { data, code: event.code }
}

t.test('each chunk is a message, text stays text, and the end is a close', async (t) => {
  const { port, http } = await serve(t)
  t.same(await messages(`ws://127.0.0.1:${port}/v1/count?to=3`), {
    data: ['1', '2', '3'],
    code: 1000,
  })
  t.same(await messages(`ws://127.0.0.1:${port}/v1/count?to=2&bytes`), {
    data: [Buffer.from('1'), Buffer.from('2')],
    code: 1000,
  })
  const plain = await fetch(`http://127.0.0.1:${port}/v1/count?to=3`)
  t.equal(await plain.text(), '123', 'the same path over HTTP')
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('what opens no stream is answered as HTTP, with its status', async (t) => {
  const { port, http } = await serve(t)
  const cases = [
    ['/v1/count?refuse', 403, /^Permission denied, request [-\w]+$/],
    ['/v1/count?plain', 200, 'no stream'],
    ['/v1/only-http', 200, 'http'],
    ['/v1/nowhere', 404, 'no such path: the HTTP API has no route for it'],
  ] as const
  for (const [path, status, body] of cases) {
    t.match({ ...(await shake(port, path)), id: '' }, { status, body, socket: null, id: '' }, path)
  }
  const other = await shake(port, '/v1/count?to=3', { upgrade: 'h2c' })
  t.match(other, { status: 200, body: '123', socket: null }, 'another protocol is not offered')
  const broken = await shake(port, '/v1/count?to=3', { 'sec-websocket-version': '1' })
  t.equal(broken.status, 400)
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('a page of another origin is refused', async (t) => {
  const { port } = await serve(t)
  const stranger = await shake(port, '/v1/count', { origin: 'http://evil.example' })
  t.equal(stranger.status, 403)
  t.match(stranger.id, /^[0-9a-f]{12}-/)
  const own = await shake(port, '/v1/count?to=0', {
    origin: `http://127.0.0.1:${port}`,
    'x-request-id': 'mine',
  })
  t.equal(own.status, 101)
  t.equal(own.id, 'mine')
  own.socket?.destroy()
})

t.test('a client that stands still holds up only its source, one that goes ends it', async (t) => {
  const { port, http } = await serve(t)
  const before = ended
  const { socket } = await shake(port, '/v1/count')
  socket?.pause()
  let last = -1
  await eventuallyTrue('the source waits', async () => {
    const still = made === last
    last = made
    await new Promise((resolve) => {
      setTimeout(resolve, 50)
    })
    return still && made > 1
  })
  t.ok(made < 1_000, `${made} chunks of 100 kB were made`)
  socket?.destroy()
  await eventuallyTrue('the source ended', () => ended === before + 1)
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('a client that takes nothing for too long is dropped', async (t) => {
  const { port, http } = await serve(t, { stallMs: 200 })
  const { socket } = await shake(port, '/v1/count')
  socket?.pause()
  await eventuallyTrue('it is dropped', () => http.underWayCount === 0)
  socket?.destroy()
})

t.test('a server that stops leaves no WebSocket behind', async (t) => {
  const { port, http } = await serve(t)
  const { socket } = await shake(port, '/v1/count')
  socket?.resume()
  await http.stop(100)
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
  t.pass('it stopped')
})

async function talk(url: string, said: readonly string[]) {
  const websocket = new WebSocket(url)
  const heard: unknown[] = []
  websocket.addEventListener('message', (event) => {
    const { data } = event as { readonly data: unknown }
    heard.push(data)
  })
  websocket.addEventListener('open', () => {
    for (const message of said) websocket.send(message)
  })
  const [event] = (await once(websocket, 'close')) as [CloseEvent]
  return { heard, code: event.code, reason: event.reason }
}

t.test('a conversation is answered message by message, to its end', async (t) => {
  const { port, http } = await serve(t)
  const url = `ws://127.0.0.1:${port}/v1/room/kitchen/talk`
  t.same(await talk(url, ['a', 'b', 'bye', 'c']), {
    heard: ['hello kitchen', 'A', 'B'],
    code: 1000,
    reason: '',
  })
  t.match(await talk(url, ['fail']), { code: 1011, reason: 'it is out of order' })
  const many = Array.from({ length: 2_000 }, (_, at) => `m${at}`)
  const { heard } = await talk(url, ['slow', ...many, 'bye'])
  t.equal(heard.length, many.length + 2, 'none is lost, however many come before they are heard')
  const { code } = await talk(url, ['x'.repeat(300_000)])
  t.ok([1006, 1009].includes(code), 'but one may not be too long')
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('a conversation ends with its client', async (t) => {
  const { port, http } = await serve(t)
  const before = ended
  const { socket } = await shake(port, '/v1/room/kitchen/talk')
  socket?.destroy()
  await eventuallyTrue('it ended', () => ended === before + 1)
  await eventuallyTrue('nothing is under way', () => http.underWayCount === 0)
})

t.test('a client may be heard a thousand times between two pings of ours', async (t) => {
  const heardMax = 1_000
  const clock = manualClock()
  const { http } = apiFake({ routes, http: { clock } })
  const port = await http.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => http.stop(0))
  const pings = (count: number) => Buffer.concat(Array<Buffer>(count).fill(frame(9, 'p')))
  for (const [kind, path] of [
    ['one that is talked with', '/v1/room/kitchen/talk'],
    ['one that only hears', '/v1/quiet'],
  ] as const) {
    const client = await HostileClient.open(port)
    await client.write(handshake(path))
    t.equal(await client.status(), 101)
    const countOf = (opcode: number) =>
      [...client.frames()].filter((one) => one.opcode === opcode).length
    let pongs = 0
    /** Few at a time: who sends many without reading an answer is cut off sooner. */
    const ping = async (count: number): Promise<void> => {
      const end = pongs + count
      while (pongs < end) {
        const some = Math.min(50, end - pongs)
        pongs += some
        await client.write(pings(some))
        await eventuallyTrue(`${pongs} pongs`, () => countOf(10) === pongs, { everyMs: 2 })
      }
    }
    await ping(heardMax)
    t.notOk(client.over, `${kind}: a thousand pings are answered`)
    clock.advance(20_000)
    await eventuallyTrue('our ping', () => countOf(9) === 1)
    // The answer to our ping is one of those that are heard.
    await client.write(frame(10))
    await ping(heardMax - 1)
    t.notOk(client.over, `${kind}: and as many more after our ping`)
    await client.write(pings(1))
    t.equal(await client.closeCode(), 1008, `${kind}: one more ends it`)
    client.socket.destroy()
  }
})
