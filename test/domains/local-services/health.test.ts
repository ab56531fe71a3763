/** One service of an agent as a load balancer asks for it, and maintenance. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { localServices } from '../../../src/domains/local-services/services.ts'
import { ServiceWaits, serviceWaitsMax } from '../../../src/domains/local-services/service-waits.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import type { Authorizer } from '../../../src/rpc/authorizer.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

async function put(server: ServerOfOne, path: string, body?: unknown) {
  return server.ask('PUT', `/v1/agent/${path}`, body)
}

async function registerWeb(server: ServerOfOne): Promise<void> {
  for (const [ID, Status] of [
    ['web-1', 'passing'],
    ['web-2', 'warning'],
  ]) {
    const Check = { TTL: '1h', Status }
    await put(server, 'service/register', { Name: 'web', ID, Port: 80, Check })
  }
}

void t.test('one service is shown by its id', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await registerWeb(server)
  const shown = await server.ask('GET', '/v1/agent/service/web-1')
  t.match(shown.json(), { ID: 'web-1', Service: 'web', Port: 80, Tags: [], Datacenter: 'dc1' })
  t.notOk('ModifyIndex' in (shown.json() as object))
  t.match(await server.ask('GET', '/v1/agent/service/web'), {
    status: 404,
    body: 'unknown service ID: "web"',
  })
})

void t.test('the status of a service is that of its answer', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await registerWeb(server)
  await put(server, 'service/register', { Name: 'bare' })
  const of = async (path: string) => {
    const json = await server.ask('GET', `/v1/agent/health/service/${path}`)
    const text = await server.ask('GET', `/v1/agent/health/service/${path}?format=text`)
    t.equal(text.status, json.status, path)
    t.match(text.headers['content-type'], /^text\/plain/)
    t.match(json.headers['content-type'], /^application\/json/)
    return { status: json.status, text: text.body, json: json.json() }
  }
  t.match(await of('id/web-1'), {
    status: 200,
    text: 'passing',
    json: {
      AggregatedStatus: 'passing',
      Service: { ID: 'web-1', Service: 'web', Datacenter: 'dc1' },
      Checks: [{ CheckID: 'service:web-1', Status: 'passing', ServiceName: 'web' }],
    },
  })
  t.match(await of('id/web-2'), { status: 429, text: 'warning' })
  t.match(await of('id/bare'), { status: 200, text: 'passing', json: { Checks: [] } })
  t.match(await of('name/web'), {
    status: 429,
    text: 'warning',
    json: [{ AggregatedStatus: 'passing' }, { AggregatedStatus: 'warning' }],
  })
  await put(server, 'check/fail/service:web-1')
  t.match(await of('name/web'), { status: 503, text: 'critical' })
  t.match(await of('id/web-2'), { status: 429, text: 'warning' }, 'the other is as it was')
  await put(server, 'check/register', { Name: 'disk', TTL: '1h' })
  t.match(await of('id/bare'), {
    status: 503,
    text: 'critical',
    json: { Checks: [{ CheckID: 'disk', ServiceID: '' }] },
  })
  t.same(await of('id/none'), {
    status: 404,
    text: 'ServiceId none not found',
    json: { AggregatedStatus: 'critical', Service: null, Checks: null },
  })
  t.same(await of('name/none'), {
    status: 404,
    text: 'ServiceName none Not Found',
    json: [],
  })
})

void t.test('a service in maintenance is critical until it is over', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await registerWeb(server)
  const passing = async () =>
    ((await server.ask('GET', '/v1/health/service/web?passing')).json() as unknown[]).length
  t.equal(await passing(), 1)
  const path = 'service/maintenance/web-1'
  t.match(await put(server, `${path}?enable=true&reason=new%20disk`), { status: 200, body: '' })
  t.equal(await passing(), 0)
  t.match(
    ((await server.ask('GET', '/v1/agent/checks')).json() as Record<string, unknown>)[
      '_service_maintenance:web-1'
    ],
    {
      Name: 'Service Maintenance Mode',
      Status: 'critical',
      Notes: 'new disk',
      ServiceID: 'web-1',
      ServiceName: 'web',
      Type: 'maintenance',
    },
  )
  t.match(await server.ask('GET', '/v1/agent/health/service/id/web-1?format=text'), {
    status: 503,
    body: 'maintenance',
  })
  t.match(await server.ask('GET', '/v1/agent/health/service/name/web?format=text'), {
    status: 503,
    body: 'maintenance',
  })
  t.equal((await put(server, 'check/pass/_service_maintenance:web-1')).status, 400)
  await put(server, 'service/register?replace-existing-checks', {
    Name: 'web',
    ID: 'web-1',
    Check: { TTL: '1h', Status: 'passing' },
  })
  t.equal(await passing(), 0, 'registering it anew ends no maintenance')
  t.equal((await put(server, `${path}?enable=false`)).status, 200)
  t.equal((await put(server, `${path}?enable=false`)).status, 200, 'twice is once')
  t.equal(await passing(), 1)
})

void t.test('a node in maintenance takes all its services along', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await registerWeb(server)
  const version = async () => {
    const text = await readFile(join(server.folder, 'agent-services.json'), 'utf8')
    return (JSON.parse(text) as { version: number }).version
  }
  t.equal(await version(), 1)
  t.equal((await put(server, 'maintenance?enable=true')).status, 200)
  t.equal(await version(), 2, 'older programs would not know what to make of it')
  t.match((await server.ask('GET', '/v1/health/state/critical')).json(), [
    {
      CheckID: '_node_maintenance',
      Name: 'Node Maintenance Mode',
      Notes: /nobody said why/,
      ServiceID: '',
      Type: 'maintenance',
    },
  ])
  t.same((await server.ask('GET', '/v1/health/service/web?passing')).json(), [])
  t.match(await server.ask('GET', '/v1/agent/health/service/id/web-1?format=text'), {
    status: 503,
    body: 'maintenance',
  })
  t.equal((await put(server, 'maintenance?enable=false')).status, 200)
  t.equal(await version(), 1)
})

void t.test('what is asked wrongly is told', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await registerWeb(server)
  const rows = [
    ['maintenance', 400, 'Missing value for enable'],
    ['maintenance?enable=', 400, 'Missing value for enable'],
    ['maintenance?enable=perhaps', 400, 'Invalid value for enable: it is true or false'],
    ['service/maintenance/web-1', 400, 'Missing value for enable'],
    ['service/maintenance/none?enable=true', 404, 'Unknown service ID "none"'],
    [`maintenance?enable=true&reason=${'x'.repeat(5_000)}`, 400, /^Notes may have at most/],
  ] as const
  for (const [path, status, body] of rows) {
    t.match(await put(server, path), { status, body }, path.slice(0, 60))
  }
})

void t.test('who may not see a service learns nothing of it', async (t) => {
  let allowed: string | null = null
  const authorizer: Authorizer = {
    resolve: async () => ({
      may: (requirement) =>
        allowed === null ||
        requirement.resource === 'none' ||
        (requirement.resource === 'service' && requirement.service === allowed),
    }),
  }
  const server = await serverOfOne(t, { begin: false, authorizer })
  await registerWeb(server)
  const statuses = async () => {
    const found: number[] = []
    for (const path of [
      'service/web-1',
      'service/none',
      'health/service/id/web-1',
      'health/service/id/none',
      'health/service/name/web',
      'health/service/name/none',
    ]) {
      found.push((await server.ask('GET', `/v1/agent/${path}`)).status)
    }
    return found
  }
  allowed = 'nothing'
  t.same(await statuses(), [403, 403, 403, 403, 403, 403])
  allowed = 'web'
  t.same(await statuses(), [200, 403, 200, 403, 429, 403])
  allowed = 'none'
  t.same(await statuses(), [403, 404, 403, 404, 403, 404])
})

void t.test('a service is waited for by the hash of its content', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  await registerWeb(server)
  const url = '/v1/agent/service/web-1'
  const shown = await server.ask('GET', url)
  const { ContentHash: hash } = shown.json() as { ContentHash: string }
  t.match(hash, /^[0-9a-f]{16}$/)
  t.equal(shown.headers['x-consul-contenthash'], hash)
  t.equal(shown.headers['x-service-contenthash'], hash)
  t.equal((await server.ask('GET', `${url}?hash=`)).status, 200, 'an empty one waits for nothing')
  t.equal((await server.ask('GET', `${url}?hash=other`)).status, 200, 'nor another one')
  t.equal((await server.ask('GET', `${url}?wait=no`)).status, 400)
  t.match((await server.ask('GET', `${url}?hash=${hash}&wait=20ms`)).json(), { ContentHash: hash })

  const { waits } = server.services.get(localServices)
  const waiting = async (count: number) =>
    eventuallyTrue(`${count} wait`, () => Promise.resolve(waits.waiting === count))
  const asked = server.ask('GET', `${url}?hash=${hash}`)
  await waiting(1)
  await put(server, 'service/register', { Name: 'web', ID: 'web-2', Port: 81 })
  t.equal(waits.waiting, 1, 'another service changed')
  await put(server, 'service/register', { Name: 'web', ID: 'web-1', Port: 81 })
  const changed = (await asked).json() as { Port: number; ContentHash: string }
  t.equal(changed.Port, 81)
  t.not(changed.ContentHash, hash)

  const last = server.ask('GET', `${url}?hash=${changed.ContentHash}`)
  await waiting(1)
  await put(server, 'service/deregister/web-1')
  t.equal((await last).status, 404)

  const hash2 = ((await server.ask('GET', '/v1/agent/service/web-2')).json() as typeof changed)
    .ContentHash
  const stop = new AbortController()
  const gone = fetch(`http://${await server.address()}/v1/agent/service/web-2?hash=${hash2}`, {
    signal: stop.signal,
  })
  await waiting(1)
  stop.abort()
  await t.rejects(gone)
  await waiting(0)
})

void t.test('places to wait for a service are bounded, and a stop ends all waits', async (t) => {
  const waits = new ServiceWaits(systemClock)
  const wait = (accessor: string, address = accessor) =>
    waits.wait({
      isChanged: () => false,
      waitMs: 600_000,
      taker: { accessor, address, operator: false },
      signal: new AbortController().signal,
    })
  const all = Array.from({ length: serviceWaitsMax / 2 }, () => wait('a'))
  await t.rejects(wait('a'), { code: 'rate_limited' })
  all.push(wait('b'))
  t.equal(waits.waiting, all.length)
  waits.stop()
  await Promise.all(all)
  t.equal(waits.waiting, 0)
  await wait('a')
})
