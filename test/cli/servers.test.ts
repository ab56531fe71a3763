/** Several servers for one command: what a server that stands still was asked goes on at the next one. */
import { once } from 'node:events'
import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { ApiClient } from '../../src/cli/api/client.ts'
import { Servers } from '../../src/cli/api/servers.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { manualClock } from '../support/manual-clock.ts'
import { standIn } from './api-stand-in.ts'

const settings = {
  token: null,
  region: null,
  namespace: null,
  tls: { ca: null, cert: null, key: null, serverName: null, verify: true },
}

const shortMs = 50
/** Longer than any test. */
const longMs = 600_000

/** Takes connections and requests, and answers none. */
async function silent(t: Test): Promise<{ readonly address: string; asked(): number }> {
  const sockets = new Set<Socket>()
  let asked = 0
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('data', () => (asked += 1))
  })
  const address = await listening(t, server)
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  return { address, asked: () => asked }
}

async function listening(t: Test, server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => void server.close())
  const bound = server.address()
  return `http://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`
}

function servers(...addresses: readonly string[]): Servers {
  const clients = addresses.map(
    (address) => new ApiClient({ ...settings, addresses: [new URL(address)] }),
  )
  return new Servers(clients, manualClock())
}

void t.test('a read goes on at the next server when another request has no answer', async (t) => {
  const still = await silent(t)
  const next = await standIn(t, { 'GET /v1/kv/a': { json: ['read'] } })
  const all = servers(still.address, next.address)
  const read = all.attempt('GET', '/v1/kv/a', { timeoutMs: longMs })
  await t.rejects(all.attempt('PUT', '/v1/session/renew/x', { timeoutMs: shortMs }), {
    code: 'unavailable',
  })
  t.match(await read, { json: ['read'] })
  t.equal(still.asked(), 2, 'both were sent there first')
  t.equal(next.asked.length, 1, 'the write was not repeated')
})

void t.test('a read whose own time is over fails, and is not asked again', async (t) => {
  const [still, also] = [await silent(t), await silent(t)]
  const all = servers(still.address, also.address)
  await t.rejects(all.attempt('GET', '/v1/kv/a', { timeoutMs: shortMs }), { code: 'unavailable' })
  t.equal(also.asked(), 0)
})

void t.test('a read stays where a refusal is an answer', async (t) => {
  const waiting: ServerResponse[] = []
  const busy = createHttpServer(({ method }, response) => {
    if (method === 'GET') waiting.push(response)
    else response.writeHead(503).end('no leader')
  })
  const next = await standIn(t, { 'GET /v1/kv/a': { json: ['there'] } })
  const all = servers(await listening(t, busy), next.address)
  const read = all.attempt('GET', '/v1/kv/a', { timeoutMs: longMs })
  await t.rejects(all.attempt('PUT', '/v1/kv/a', { timeoutMs: longMs }), { code: 'unavailable' })
  await eventuallyTrue('the read waits', () => waiting.length > 0)
  for (const response of waiting) response.end('["here"]')
  t.match(await read, { json: ['here'] })
  t.equal(next.asked.length, 0)
})

void t.test('a cancelled request moves no other', async (t) => {
  const still = await silent(t)
  const next = await standIn(t, { 'GET /v1/kv/a': { json: ['there'] } })
  const all = servers(still.address, next.address)
  const cancel = new AbortController()
  const cancelled = all.attempt('PUT', '/v1/kv/a', { timeoutMs: longMs, signal: cancel.signal })
  cancel.abort()
  await t.rejects(cancelled)
  await t.rejects(all.attempt('GET', '/v1/kv/a', { timeoutMs: shortMs }), { code: 'unavailable' })
  t.equal(next.asked.length, 0, 'the next one is asked only from now on')
  t.match(await all.attempt('GET', '/v1/kv/a', { timeoutMs: longMs }), { json: ['there'] })
})
