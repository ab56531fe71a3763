/** Answers that many wait for are written once, and what clients do not take is bounded. */
import { connect, type Socket } from 'node:net'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { HttpLimits } from '../../src/api/http-limits.ts'
import { Outgoing, SharedBytes, smallAnswerBytes } from '../../src/api/outgoing.ts'
import { sharedBytesMax } from '../../src/api/shared-body.ts'
import type { Route } from '../../src/api/route.ts'
import { apiFake, listRows } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { HttpClient } from '../support/http-client.ts'

const pad = 'x'.repeat(1_000)

/** `made`: how often the rows were written as JSON. */
async function server(t: Test, limits: Partial<HttpLimits> = {}, room?: Outgoing) {
  const counted = { made: 0 }
  const route: Route = {
    method: 'GET',
    path: '/v1/listed',
    async handle(request) {
      const { value } = await request.query(listRows, { prefix: '' })
      async function* pages() {
        counted.made += 1
        yield* value
      }
      return { rows: pages() }
    },
  }
  const fake = apiFake({
    routes: [route],
    http: { limits, ...(room !== undefined && { outgoing: room }) },
    ...(room !== undefined && { dispatch: { room } }),
  })
  const port = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  const client = new HttpClient(port)
  t.teardown(async () => {
    client.close()
    await fake.http.stop(0)
  })
  const get = (path: string, headers: Record<string, string> = {}) =>
    client.request('GET', path, { headers, timeoutMs: 30_000 })
  const fill = (rows: number): number => {
    for (let n = 0; n < rows; n += 1) fake.state.put(`k${n}`, pad)
    return fake.state.appliedIndex
  }
  const parked = (count: number) =>
    eventuallyTrue(`${count} wait`, () => fake.dispatcher.parkedCount === count)
  return { ...fake, port, get, fill, parked, counted }
}

t.test('one change is written once for all who wait, in each form they asked for', async (t) => {
  const { get, fill, parked, counted, state } = await server(t)
  const index = fill(50)
  const path = `/v1/listed?index=${index}&wait=30s`
  const plain = Array.from({ length: 100 }, () => get(path))
  const zipped = Array.from({ length: 20 }, () => get(path, { 'accept-encoding': 'gzip' }))
  const pretty = Array.from({ length: 20 }, () => get(`${path}&pretty`))
  await parked(140)
  counted.made = 0
  state.put('k0', 'changed')
  const bodies = (await Promise.all(plain)).map(({ body }) => body.toString())
  t.equal(new Set(bodies).size, 1)
  const rows = JSON.parse(bodies[0] ?? '') as { key: string; value: string }[]
  t.equal(rows.length, 50)
  t.equal(rows.find(({ key }) => key === 'k0')?.value, 'changed')
  for (const { headers, body } of await Promise.all(zipped)) {
    t.equal(headers['content-encoding'], 'gzip')
    t.equal(gunzipSync(body).toString(), bodies[0])
  }
  for (const { body } of await Promise.all(pretty)) {
    t.equal(body.toString(), `${JSON.stringify(rows, undefined, 4)}\n`)
  }
  t.equal(counted.made, 2, 'once as it is, once indented')
})

t.test('an answer that is too long to be kept is written for each who takes it', async (t) => {
  const { get, fill, parked, state } = await server(t)
  const index = fill(Math.ceil(sharedBytesMax / pad.length))
  const waiting = [1, 2, 3].map(() => get(`/v1/listed?index=${index}&wait=30s`))
  await parked(3)
  state.put('k0', 'changed')
  for (const { status, body } of await Promise.all(waiting)) {
    t.equal(status, 200)
    t.ok(body.length > sharedBytesMax)
    const [first] = JSON.parse(body.toString()) as { value: string }[]
    t.equal(first?.value, 'changed')
  }
  await eventuallyTrue('every view is closed', () => state.openViews === 0)
})

/** Asks, and takes nothing of the answer. */
function stalled(t: Test, port: number, path: string): Socket {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true })
  socket.on('error', () => {})
  socket.pause()
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
  t.teardown(() => socket.destroy())
  return socket
}

t.test('what clients do not take is bounded: others are refused, or wait for room', async (t) => {
  const answerBytesMax = 1_000_000
  const outgoing = new Outgoing({ answerBytesMax, stallMs: 60_000 })
  const { get, fill, parked, port, state } = await server(t, { answerBytesMax }, outgoing)
  fill(10)
  const long = 'y'.repeat(8_000_000)
  state.put('long', long)
  const index = state.appliedIndex
  const slow = stalled(t, port, '/v1/row/long')
  await eventuallyTrue('the bound is reached', () => outgoing.full)
  const refused = await get('/v1/listed')
  t.equal(refused.status, 503)
  t.match(refused.body.toString(), /^clients have not taken .*limits\.http_answer_bytes_max.*$/)
  t.equal(refused.headers['retry-after'], '1')
  t.equal((await get('/v1/row/k2')).status, 200, 'what is small is answered')
  const bytes = outgoing.bytes

  const parkedOne = get(`/v1/listed?index=${index}&wait=30s`)
  await parked(1)
  state.put('k1', 'changed')
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
  t.equal(outgoing.bytes, bytes, 'nobody is woken into a server without room')
  slow.destroy()
  t.equal((await parkedOne).status, 200, 'and then goes on')
  await eventuallyTrue('all is given back', () => outgoing.bytes < answerBytesMax)
})

t.test('a body that many are sent is counted once, and until the last has it', (t) => {
  const outgoing = new Outgoing({ answerBytesMax: 1_000, stallMs: 60_000 })
  const body = new SharedBytes(outgoing, Buffer.alloc(900))
  const held = [body.hold(), body.hold()]
  t.equal(outgoing.bytes, 900)
  t.notOk(outgoing.full)
  body.release()
  held[0]?.release()
  held[0]?.release()
  t.equal(outgoing.bytes, 900)
  const more = outgoing.hold(100)
  t.ok(outgoing.full, 'at the bound')
  let told = 0
  outgoing.whenRoom(() => {
    told += 1
  })
  t.doesNotThrow(() => outgoing.assertRoom(smallAnswerBytes))
  t.throws(() => outgoing.assertRoom(smallAnswerBytes + 1), { code: 'overloaded' })
  more.release()
  t.equal(told, 1)
  held[1]?.release()
  t.equal(outgoing.bytes, 0)
  t.equal(outgoing.refusedCount, 1)
  t.end()
})
