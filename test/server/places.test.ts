/**
 * Callers without a token take all event streams and all places of blocking queries that they can get: they get their share,
 * another token gets the rest, an operator still gets one, and who may see nothing takes none.
 */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import t, { type Test } from 'tap'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { HttpClient } from '../support/http-client.ts'
import { metricsOf } from '../support/server-numbers.ts'
import { serverOfThree, type ServerOfThree } from '../support/server-of-three.ts'
import { withFirstToken, type TokenCluster } from '../support/token-cluster.ts'

const limits = { event_streams_max: 16, blocking_queries_max: 32 }
/** Half for one token or address, a sixteenth for operators alone. */
const shares = {
  streams: { share: 8, open: 15 },
  queries: { share: 16, open: 30 },
} as const

type Caller = { readonly token: string | null; readonly from: string }
type Asked = Caller & { readonly port: number; readonly path: string }

/** The status of the answer's head, and who holds the connection until the test ends. */
async function held(t: Test, { port, path, token, from }: Asked): Promise<number> {
  const headers = token === null ? {} : { 'x-service-token': token }
  const request = get({
    host: '127.0.0.1',
    port,
    path,
    headers,
    agent: false,
    localAddress: from,
  })
  t.teardown(() => request.destroy())
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('error', () => {})
  response.resume()
  return response.statusCode ?? 0
}

/** How many of so many callers, one after another, got each status. */
async function counted(
  t: Test,
  callers: readonly Asked[],
): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {}
  for (const caller of callers) {
    const status = await held(t, caller)
    counts[status] = (counts[status] ?? 0) + 1
  }
  return counts
}

type Scene = {
  readonly tokens: TokenCluster<ServerOfThree>
  readonly at: number
  readonly port: number
  readonly ops: number
  /** May read what callers without a token may read. */
  readonly reader: string
}

async function scene(t: Test): Promise<Scene> {
  const tokens = await withFirstToken(
    await serverOfThree(t, { config: { acl: { enabled: true }, limits }, writeFirst: false }),
  )
  const at = await tokens.cluster.waitForLeader()
  const rules = 'key_prefix "open/" { policy = "read" }'
  for (const name of ['anonymous', 'reader']) {
    await tokens.asRoot(`PUT /v1/acl/policy/${name}`, { Name: name, Rules: rules })
  }
  const { client_token: reader } = await tokens.made(at, { policies: ['reader'] })
  await tokens.asRoot('PUT /v1/kv/open/a', 'value')
  await eventuallyTrue('callers without a token read', async () => {
    return (await tokens.ask(at, null, 'GET /v1/kv/open/a')).status === 200
  })
  const { http: port, ops } = tokens.cluster.server(at).spec.ports
  return { tokens, at, port, ops, reader }
}

const anonymous = { token: null, from: '127.0.0.2' }
const elsewhere = { token: null, from: '127.0.0.3' }

void t.test('an operator gets an event stream while others take all they can', async (t) => {
  const { tokens, port, ops, reader } = await scene(t)
  const { share, open } = shares.streams
  const path = '/v1/event/stream?topic=KV:open/*'
  const asks = (count: number, caller: Caller) =>
    Array.from({ length: count }, () => ({ ...caller, port, path }))

  const own = [...asks(share + 20, anonymous), ...asks(20, elsewhere)]
  t.same(await counted(t, own), { 200: share, 429: 40 }, 'those without a token are one caller')
  const others = asks(open, { token: reader, from: '127.0.0.4' })
  t.same(await counted(t, others), { 200: open - share, 503: share }, 'the reserve is kept')
  const closed = { port, path: '/v1/event/stream?topic=Variable:*' }
  t.equal(await held(t, { ...closed, ...anonymous }), 403, 'before any place is asked for')
  t.equal(await held(t, { ...closed, token: reader, from: '127.0.0.5' }), 403)
  const { root } = tokens
  t.equal(await held(t, { port, path, token: root, from: '127.0.0.2' }), 200, 'the operator')

  const metrics = await (await fetch(`http://127.0.0.1:${ops}/metrics`)).text()
  const refused = /^muster_http_limited_total\{limit="event_streams"\} (\d+)$/m.exec(metrics)?.[1]
  t.equal(Number(refused), 40 + share)
})

void t.test('an operator waits for a change while others take all places they can', async (t) => {
  const { tokens, at, port, ops, reader } = await scene(t)
  const { share, open } = shares.queries
  const seen = await tokens.cluster.http(at).request('GET', '/v1/kv/open/a')
  const index = String(seen.headers['x-service-index'])
  const path = `/v1/kv/open/a?index=${index}&wait=5m`
  const statuses: number[] = []
  const ask = (count: number, { token, from }: Caller) => {
    const client = new HttpClient(port, count, from)
    t.teardown(() => client.close())
    const headers = token === null ? {} : { 'x-service-token': token }
    for (let sent = 0; sent < count; sent += 1) {
      void client.request('GET', path, { headers, timeoutMs: 120_000 }).then(
        ({ status }) => statuses.push(status),
        () => statuses.push(0),
      )
    }
  }
  const become = async (parked: number, refused: readonly number[]) => {
    await eventually(`${parked} wait and ${refused.length} are refused`, async () => {
      const waiting = (await metricsOf(ops))('muster_queries_parked')
      return waiting === parked && statuses.length === refused.length ? true : undefined
    })
    t.same(statuses.splice(0), refused)
  }
  // Queries of servers for themselves wait as well, and take no place of this limit.
  const others = (await metricsOf(ops))('muster_queries_parked')
  ask(share, anonymous)
  await become(others + share, [])
  ask(5, anonymous)
  ask(5, elsewhere)
  await become(others + share, Array<number>(10).fill(429))
  ask(open - share, { token: reader, from: '127.0.0.4' })
  await become(others + open, [])
  ask(1, { token: reader, from: '127.0.0.5' })
  await become(others + open, [503])
  const closed = await tokens.ask(at, reader, `GET /v1/kv/secret?index=${index}&wait=5m`)
  t.equal(closed.status, 403, 'at once')
  const { root } = tokens
  ask(1, { token: root, from: '127.0.0.2' })
  await become(others + open + 1, [])

  await tokens.asRoot('PUT /v1/kv/open/a', 'changed')
  await become(others, Array<number>(open + 1).fill(200))
})
