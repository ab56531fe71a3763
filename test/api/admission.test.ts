/** Limits of clients, request ids and what an audit log is told, over sockets and in memory. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import Type from 'typebox'
import type { AuditedRequest, RequestAudit } from '../../src/api/audit.ts'
import type { HttpServerOptions } from '../../src/api/server.ts'
import type { Route } from '../../src/api/route.ts'
import { MusterError } from '../../src/lib/errors.ts'
import { silentLogger, type LogFields } from '../../src/lib/log.ts'
import { defineLocalMethod } from '../../src/rpc/method.ts'
import { apiFake, getRow, listRows, putRow } from '../support/api-fake.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { HttpClient } from '../support/http-client.ts'

const off = { ratePerSecond: 0, burst: 0, concurrency: 0 }

function auditFake(): RequestAudit & { seen: AuditedRequest[]; refusing: boolean } {
  const seen: AuditedRequest[] = []
  return {
    seen,
    enabled: true,
    refusing: false,
    accessorOf: (token) => (token === 'good' ? 'acc-1' : null),
    record: (request) => void seen.push(request),
  }
}

/** `/v1/gate` answers once `open` is called; `/v1/stream` streams until then. */
function gate() {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const routes: Route[] = [
    {
      method: 'GET',
      path: '/v1/gate',
      handle: async () => {
        await opened
        return { text: 'open' }
      },
    },
    {
      method: 'GET',
      path: '/v1/stream',
      handle: () => ({
        stream: (async function* () {
          yield 'begun\n'
          await opened
        })(),
      }),
    },
    { method: 'PUT', path: '/v1/small', body: 'bytes', bodyBytesMax: 16, handle: () => ({}) },
    {
      method: 'GET',
      path: '/v1/defect',
      handle: () => {
        throw new Error('a defect')
      },
    },
    {
      method: 'GET',
      path: '/v1/away',
      handle: () => {
        throw new MusterError('unavailable', 'a thing is away')
      },
    },
  ]
  return { routes, open }
}

async function listening(t: Test, http: Partial<HttpServerOptions>, routes: readonly Route[] = []) {
  const fake = apiFake({ routes, http })
  const port = await fake.http.listen({ host: '127.0.0.1', port: 0 })
  const client = new HttpClient(port)
  t.teardown(async () => {
    client.close()
    await fake.http.stop(0)
  })
  return { fake, port, client }
}

t.test('beyond its rate a client gets 429 with one line and Retry-After', async (t) => {
  const clock = manualClock()
  const fake = apiFake({ http: { clock, clientLimits: { ...off, ratePerSecond: 2, burst: 2 } } })
  const ask = (path = '/v1/row/a') => fake.http.app.inject({ method: 'GET', url: path })
  t.equal((await ask()).statusCode, 404)
  t.equal((await ask()).statusCode, 404)
  const refused = await ask()
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '1')
  t.match(
    refused.body,
    /^too many requests of 127\.0\.0\.1: limits\.http_rate_per_client is 2 a second/,
  )
  const json = await ask('/v1/sys/x')
  t.match(JSON.parse(json.body), { errors: [/^too many requests/] })
  t.match(fake.http.refused, { rate: 2, concurrency: 0, connections: 0 })
  clock.advance(500)
  t.equal((await ask()).statusCode, 404)
  fake.http.configureClientLimits({ ...off, connectionsPerClientMax: 10 })
  for (let at = 0; at < 5; at += 1) t.equal((await ask()).statusCode, 404)
})

t.test('what is under way is limited, but for what waits for a change or streams', async (t) => {
  const { routes, open } = gate()
  const limits = { ...off, concurrency: 2 }
  const { fake, client } = await listening(t, { clientLimits: limits }, routes)
  await fake.dispatcher.call(putRow, { key: 'a', value: 1 }, nobody)
  const patience = { timeoutMs: 60_000 }
  const waiting = Array.from({ length: 5 }, () =>
    client.request('GET', '/v1/row/a?index=1000000&wait=60s', patience),
  )
  await eventuallyTrue('parked', () => fake.dispatcher.parkedCount === 5)
  const streams = Array.from({ length: 3 }, () => client.request('GET', '/v1/stream', patience))
  await eventuallyTrue('streaming', () => fake.http.underWayCount === 8)
  const slow = [1, 2].map(() => client.request('GET', '/v1/gate', patience))
  await eventuallyTrue('under way', () => fake.http.underWayCount === 10)
  const refused = await client.request('GET', '/v1/row/a')
  t.equal(refused.status, 429)
  t.match(refused.body.toString(), /limits\.http_concurrency_per_client is 2$/)
  open()
  for (const reply of await Promise.all([...slow, ...streams])) t.equal(reply.status, 200)
  t.equal((await client.request('GET', '/v1/row/a')).status, 200, 'the places are free again')
  fake.dispatcher.drain()
  for (const reply of await Promise.all(waiting)) t.equal(reply.status, 200)
  t.equal(fake.http.refused.concurrency, 1)
})

const nobody = { token: null, remote: '127.0.0.1', requestId: 'test' }

t.test('every answer has a request id, and a sane one of the client is kept', async (t) => {
  const { routes } = gate()
  const logged: LogFields[] = []
  const log = {
    ...silentLogger,
    error: (_: string, fields: LogFields = {}) => void logged.push(fields),
    debug: (_: string, fields: LogFields = {}) => void logged.push(fields),
  }
  const fake = apiFake({ routes, http: { log } })
  const ask = async (url: string, headers: Record<string, string> = {}) => {
    const reply = await fake.http.app.inject({ method: 'GET', url, headers })
    return { status: reply.statusCode, id: String(reply.headers['x-request-id']), body: reply.body }
  }
  const ids = new Set<string>()
  for (const url of ['/v1/row/a', '/v1/rows', '/v1/nowhere', '/v1/row/%', '/v1/away']) {
    const { id } = await ask(url)
    t.match(id, /^[0-9a-f]{12}-[0-9a-z]+$/, url)
    ids.add(id)
  }
  t.equal(ids.size, 5, 'each its own')
  const { id, body, status } = await ask('/v1/defect', { 'x-request-id': 'trace:7.A_b-c' })
  t.equal(status, 500)
  t.equal(id, 'trace:7.A_b-c')
  t.equal(body, 'internal error, request trace:7.A_b-c')
  t.ok(logged.some(({ requestId, stack }) => requestId === id && stack !== undefined))
  const away = await ask('/v1/away', { 'x-request-id': 'away-1' })
  t.equal(away.status, 503)
  t.ok(logged.some(({ requestId, code }) => requestId === 'away-1' && code === 'unavailable'))
  for (const bad of ['', ' ', 'a b', '-a', 'a'.repeat(65), 'ä', 'a/b', '"', 'a,b']) {
    t.not((await ask('/v1/row/a', { 'x-request-id': bad })).id, bad)
  }
  const secret = 'a-secret-token'
  const mistaken = await ask('/v1/row/a', { 'x-request-id': secret, 'x-service-token': secret })
  t.not(mistaken.id, secret, 'a token is no request id')
  const other = { 'x-request-id': secret, 'x-service-token': 'good', 'x-consul-token': secret }
  t.not((await ask('/v1/row/a', other)).id, secret, 'nor is a second one')
  const asked = await ask(`/v1/row/a?token=${secret}`, { 'x-request-id': secret })
  t.not(asked.id, secret, 'nor one of the query')
})

t.test('one connection too many is told so and runs nothing', async (t) => {
  const { port, fake } = await listening(t, { limits: { connectionsPerClientMax: 1 } })
  const first = connect(port, '127.0.0.1')
  await once(first, 'connect')
  await eventuallyTrue('refused', async () => {
    const socket = connect(port, '127.0.0.1')
    socket.write(
      'PUT /v1/row/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 11\r\n\r\n{"Value":1}',
    )
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.on('error', () => {})
    await once(socket, 'close')
    return /^HTTP\/1\.1 429 [^]*Retry-After: 1\r\n[^]*http_max_conns_per_client is 1$/.test(text)
  })
  t.ok(fake.http.refused.connections >= 1)
  const read = await fake.http.app.inject({ method: 'GET', url: '/v1/row/a' })
  t.equal(read.statusCode, 404, 'nothing was written')
  fake.http.configureClientLimits({ ...off, connectionsPerClientMax: 2 })
  const second = connect(port, '127.0.0.1')
  second.write('GET /v1/row/a HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [chunk] = (await once(second, 'data')) as [Buffer]
  t.match(chunk.toString(), /^HTTP\/1\.1 404 /)
  first.destroy()
  second.destroy()
})

t.test('a body over its route’s bound is 413 in one line, declared or in chunks', async (t) => {
  const { routes } = gate()
  const { client, port } = await listening(t, {}, routes)
  const declared = await client.request('PUT', '/v1/small', { body: 'x'.repeat(17) })
  t.equal(declared.status, 413)
  t.equal(declared.body.toString(), 'the request body is too large: it has over 16 bytes')
  t.equal((await client.request('PUT', '/v1/small', { body: 'x'.repeat(16) })).status, 200)
  const head =
    'PUT /v1/small HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n'
  const talk = async (chunks: string): Promise<string> => {
    const socket = connect(port, '127.0.0.1')
    let text = ''
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()))
    socket.write(head + chunks)
    await once(socket, 'close')
    return text
  }
  const chunk = '8\r\n12345678\r\n'
  t.match(await talk(`${chunk.repeat(2)}0\r\n\r\n`), /^HTTP\/1\.1 200 /)
  t.match(
    await talk(`${chunk.repeat(3)}0\r\n\r\n`),
    /^HTTP\/1\.1 413 [^]*\r\n\r\nthe request body is too large: it has over 16 bytes$/,
  )
  const ignored = await client.request('GET', '/v1/row/a', { body: 'x'.repeat(65_537) })
  t.equal(ignored.status, 413, 'a body that nobody wants is bounded too')
})

t.test(
  'an audit log is told of each request once, with what it asked and how it ended',
  async (t) => {
    const { routes } = gate()
    const audit = auditFake()
    const { client } = await listening(t, { audit }, routes)
    await client.request('PUT', '/v1/row/a', {
      body: '{"Value":1}',
      headers: { 'x-service-token': 'good', 'x-request-id': 'mine' },
    })
    await client.request('GET', '/v1/row/b?token=other')
    await client.request('GET', '/v1/row/b?token=other&x=%zz')
    await client.request('GET', '/v1/nowhere/at/all')
    await client.request('PUT', '/v1/small', { body: 'x'.repeat(17) })
    await eventuallyTrue('all are told', () => audit.seen.length === 5)
    t.match(audit.seen, [
      {
        requestId: 'mine',
        remote: '127.0.0.1',
        method: 'PUT',
        url: '/v1/row/a',
        route: '/v1/row/*',
        call: 'rows.put',
        token: 'good',
        accessor: 'acc-1',
        status: 200,
        error: null,
        forwarded: false,
      },
      {
        url: '/v1/row/b?token=other',
        call: 'rows.get',
        token: 'other',
        accessor: null,
        status: 404,
      },
      {
        token: null,
        call: null,
        status: 400,
        error: 'the query string has a broken percent escape',
      },
      { route: null, call: null, status: 404, error: null },
      {
        route: '/v1/small',
        call: null,
        status: 413,
        error: 'the request body is too large: it has over 16 bytes',
      },
    ])
    t.ok(audit.seen.every(({ durationMs }) => durationMs > 0))
  },
)

t.test('while nothing can be recorded no request runs', async (t) => {
  const audit = auditFake()
  audit.refusing = true
  const fake = apiFake({ http: { audit } })
  const ask = () => fake.http.app.inject({ method: 'PUT', url: '/v1/row/a', payload: { Value: 1 } })
  const refused = await ask()
  t.equal(refused.statusCode, 503)
  t.equal(refused.headers['retry-after'], '1')
  t.match(refused.body, /^the audit log of this server cannot be written, and audit\.required/)
  t.same(audit.seen, [])
  audit.refusing = false
  t.equal((await ask()).statusCode, 200)
  await eventuallyTrue('it is recorded', () => audit.seen.length === 1)
})

t.test('a request that another server ran is told as forwarded', async (t) => {
  const audit = auditFake()
  const whoami = defineLocalMethod({
    kind: 'local',
    name: 'whoami',
    args: Type.Object({}),
    requires: () => ({ resource: 'none' }),
    run: async () => 'here',
  })
  const route: Route = {
    method: 'GET',
    path: '/v1/whoami',
    handle: async (request) => ({
      json: await request.call(whoami, {}, { at: request.search.text('at') }),
    }),
  }
  const fake = apiFake({
    routes: [route],
    http: { audit },
    dispatch: {
      methods: [getRow, listRows, putRow, whoami],
      servers: { find: () => ({ id: 's2', address: '127.0.0.1:1' }) } as never,
      link: { call: async () => 'there', stream: () => Promise.reject(new Error('no')) } as never,
    },
  })
  const ask = async (url: string) => (await fake.http.app.inject({ method: 'GET', url })).body
  t.equal(await ask('/v1/whoami'), '"here"')
  t.equal(await ask('/v1/whoami?at=s2'), '"there"')
  await eventuallyTrue('both are told', () => audit.seen.length === 2)
  t.match(audit.seen, [{ forwarded: false }, { forwarded: true, call: 'whoami' }])
})
