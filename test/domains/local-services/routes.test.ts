/** Services and checks of one agent: registered over HTTP, run, kept, and seen in the catalog at once. */
import { readFile, stat } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import t from 'tap'
import { localServices } from '../../../src/domains/local-services/services.ts'
import { systemClock, type Clock } from '../../../src/lib/clock.ts'
import type { Authorizer } from '../../../src/rpc/authorizer.ts'
import { eventually } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

async function put(server: ServerOfOne, path: string, body?: unknown) {
  return server.ask('PUT', `/v1/agent/${path}`, body)
}

async function checks(server: ServerOfOne, url: string) {
  return (await server.ask('GET', url)).json() as {
    CheckID: string
    Status: string
    Output: string
    ServiceName: string
    Type: string
  }[]
}

void t.test(
  'a TTL check is critical, then what its owner says, here and in the catalog',
  async (t) => {
    const server = await serverOfOne(t, { begin: false })
    t.match(await put(server, 'check/register', { Name: 'Beat', TTL: '30s', Notes: 'n' }), {
      status: 200,
      body: '',
    })
    t.match(await checks(server, '/v1/health/node/one'), [
      { CheckID: 'Beat', Status: 'critical', Notes: 'n', Type: 'ttl' },
    ])
    const rows = [
      ['check/pass/Beat?note=well', undefined, 'passing', 'well'],
      ['check/warn/beat?note=hm', undefined, 'warning', 'hm'],
      ['check/fail/Beat', undefined, 'critical', ''],
      ['check/update/Beat', { Status: 'passing', Output: 'out' }, 'passing', 'out'],
    ] as const
    for (const [path, body, status, output] of rows) {
      t.match(await put(server, path, body), { status: 200, body: '' })
      t.match(
        await checks(server, '/v1/health/node/one'),
        [{ Status: status, Output: output }],
        path,
      )
    }
    t.match((await server.ask('GET', '/v1/agent/checks')).json(), {
      Beat: { Node: 'one', CheckID: 'Beat', Status: 'passing', Definition: {} },
    })
    t.equal((await server.ask('GET', '/v1/agent/check/pass/Beat')).status, 405)
    t.equal((await put(server, 'check/deregister/beat')).status, 200)
    t.same(await checks(server, '/v1/health/node/one'), [])
    t.equal((await put(server, 'check/deregister/beat')).status, 404)
    t.equal((await put(server, 'check/pass/beat')).status, 404)
  },
)

void t.test('a service comes with its checks and goes with them', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const answer = await put(server, 'service/register', {
    Name: 'api',
    ID: 'api-1',
    Port: 80,
    Tags: ['a'],
    Meta: { k: 'v' },
    Check: { TTL: '1m', Status: 'passing' },
  })
  t.match(answer, { status: 200, body: '' })
  t.match((await server.ask('GET', '/v1/catalog/service/api')).json(), [
    { Node: 'one', ServiceID: 'api-1', ServicePort: 80 },
  ])
  t.match(await checks(server, '/v1/health/checks/api'), [
    { CheckID: 'service:api-1', Name: 'Service api check', Status: 'passing', ServiceTags: ['a'] },
  ])
  t.match((await server.ask('GET', '/v1/agent/services')).json(), {
    'api-1': { ID: 'api-1', Service: 'api', Port: 80, Tags: ['a'], Datacenter: 'dc1' },
  })
  await put(server, 'service/register', {
    Name: 'api',
    ID: 'api-1',
    Checks: [{ TTL: '1m' }, { CheckID: 'x', TTL: '1m' }],
  })
  const ids = async () =>
    (await checks(server, '/v1/health/checks/api')).map(({ CheckID }) => CheckID)
  t.same(await ids(), ['service:api-1', 'service:api-1:1', 'x'])
  await put(server, 'service/register?replace-existing-checks', {
    Name: 'api',
    ID: 'api-1',
    Check: { CheckID: 'x', TTL: '1m' },
  })
  t.same(await ids(), ['x'])
  t.equal((await put(server, 'service/deregister/api-1')).status, 200)
  t.same(await ids(), [])
  t.same((await server.ask('GET', '/v1/catalog/service/api')).json(), [])
  t.equal((await put(server, 'service/deregister/api-1')).status, 404)
})

void t.test(
  'a check that runs finds its listener, and its service goes when it stays critical',
  async (t) => {
    // The shortest time that is allowed, in a tenth of a second.
    const clock: Clock = {
      ...systemClock,
      setTimer: (ms, run) => systemClock.setTimer(ms === 60_000 ? 100 : ms, run),
    }
    const server = await serverOfOne(t, { begin: false, clock })
    const listener = createServer((socket) => socket.destroy())
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    t.teardown(() => listener.close())
    const { port } = listener.address() as AddressInfo
    await put(server, 'service/register', {
      Name: 'db',
      Check: { TCP: `127.0.0.1:${port}`, Interval: '1s', DeregisterCriticalServiceAfter: '1s' },
    })
    const statuses = async () =>
      (await checks(server, '/v1/health/checks/db')).map(({ Status }) => Status).join()
    await eventually('it passes', async () => ((await statuses()) === 'passing' ? true : undefined))
    listener.close()
    await eventually('it is gone', async () => ((await statuses()) === '' ? true : undefined))
    t.same((await server.ask('GET', '/v1/catalog/service/db')).json(), [])
  },
)

void t.test('what would be without effect in a service is refused, by its name', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const register = (more: object) => put(server, 'service/register', { Name: 'web', ...more })
  const mesh =
    'must be left out: there is no service mesh here; a proxy is registered as a service of its own'
  const refused = [
    [{ Connect: { Native: true } }, `Connect.Native ${mesh}`],
    [{ connect: { sidecarservice: {} } }, `Connect.sidecarservice ${mesh}`],
    [{ Connect: { SidecarService: { Port: 1 } } }, `Connect.SidecarService ${mesh}`],
    [{ Connect: 'yes' }, `Connect ${mesh}`],
    [{ Proxy: { DestinationServiceName: 'db' } }, `Proxy ${mesh}`],
    [
      { SocketPath: '/run/web.sock' },
      'SocketPath must be left out: a service is reached at its Address and Port',
    ],
    [
      { Locality: { Region: 'eu', Zone: 'a' } },
      'Locality must be left out: instances are told apart by Meta, as by { "zone": "a" }',
    ],
    [
      { Ports: [{ Name: 'http', Port: 80 }] },
      'Ports must be left out: a service has one Port; others are given with TaggedAddresses, or in Meta',
    ],
  ] as const
  for (const [more, body] of refused) t.match(await register(more), { status: 400, body })
  t.same((await server.ask('GET', '/v1/agent/services')).json(), {})
  const empty = [
    { Connect: null, Proxy: null, SocketPath: null, Locality: null, Ports: null },
    { Connect: {}, Proxy: {}, SocketPath: '', Locality: {}, Ports: [] },
    {
      Connect: { Native: false, SidecarService: null },
      Proxy: { MeshGateway: {}, Expose: { Checks: false }, Upstreams: [], LocalServicePort: 0 },
      Locality: { Region: '', Zone: '' },
    },
  ]
  for (const more of empty) t.match(await register(more), { status: 200 })
})

void t.test('a check of a node deregisters no service', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const body = { Name: 'disk', TTL: '1h', DeregisterCriticalServiceAfter: '1m' }
  t.match(await put(server, 'check/register', body), { status: 200 })
  t.match(server.services.get(localServices).check('disk')?.definition, { deregisterAfterMs: null })
})

void t.test('a TCP check may want a handshake', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const agent = server.services.get(localServices)
  const run = { Name: 'c', TCP: '127.0.0.1:1', Interval: '1h', TLSServerName: 'web.example' }
  const probe = () => agent.check('c')?.definition.probe
  await put(server, 'check/register', { ...run, TCPUseTLS: true })
  t.match(probe(), { type: 'tcp', tls: { skipVerify: false, serverName: 'web.example' } })
  await put(server, 'check/register', { ...run, TCPUseTLS: false })
  t.notOk('tls' in (probe() ?? {}))
})

void t.test('what is wrong is 400 and named', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const check = { Name: 'c' }
  const run = { ...check, Interval: '1s' }
  const rows: readonly (readonly [string, unknown, RegExp])[] = [
    ['check/register', 'no json', /JSON/],
    ['check/register', {}, /Missing Name/],
    ['check/register', check, /exactly one kind/],
    ['check/register', { Name: 'a\nb', TTL: '1s' }, /printable/],
    ['check/register', { Name: 'gossiphealth', TTL: '1s' }, /leader/],
    ['check/register', { ...check, TTL: 'soon' }, /TTL must be a duration/],
    ['check/register', { ...check, TTL: '-1s' }, /TTL/],
    ['check/register', { ...check, TTL: '1s', Status: 'fine' }, /fine/],
    ['check/register', { ...check, TTL: '1s', ServiceID: 'none' }, /none/],
    ['check/register', { ...check, TTL: '1s', HTTP: 'http://x', Interval: '1s' }, /exactly one/],
    ['check/register', { ...check, HTTP: 'http://x' }, /Interval/],
    ['check/register', { ...run, HTTP: 'ftp://x' }, /http:/],
    ['check/register', { ...run, HTTP: 'http://x', Header: { 'a b': ['c'] } }, /Header/],
    ['check/register', { ...run, TCP: 'nowhere' }, /host:port/],
    ['check/register', { ...run, GRPC: 'x/y' }, /host:port/],
    ['check/register', { ...run, Args: ['true'] }, /set enable_script_checks/],
    ['check/register', { ...run, DockerContainerID: 'x' }, /no kind of check/],
    ['service/register', {}, /Missing/],
    ['service/register', { Name: 's', Address: '0.0.0.0' }, /leave it empty for the address/],
    ['service/register', { Name: 's', Address: '::' }, /Address of the service/],
    ['service/register', { Name: 's', Address: '[::]' }, /Address of the service/],
    ['service/register', { Name: 's', Kind: 'connect-proxy' }, /Kind/],
    ['service/register', { Name: 's', Check: { Interval: '1s' } }, /exactly one kind/],
    ['service/register', { Name: 's', Namespace: 'other' }, /Namespace/],
    ['check/update/c', {}, /Status/],
  ]
  for (const [path, body, text] of rows) {
    const answer = await put(server, path, body)
    t.equal(answer.status, 400, `${path} ${JSON.stringify(body)}`)
    t.match(answer.body, text)
  }
  await put(server, 'check/register', { ...run, TCP: '127.0.0.1:1' })
  t.match(await put(server, 'check/pass/c'), { status: 400, body: /no TTL/ })
  t.same((await server.ask('GET', '/v1/agent/services')).json(), {})
})

void t.test(
  'what was registered is kept with its status, for the owner’s eyes alone',
  async (t) => {
    const server = await serverOfOne(t, { begin: false, scripts: 'all' })
    await put(server, 'service/register', { Name: 'api', Check: { TTL: '1h' } })
    await put(server, 'check/register', { Name: 'script', Args: ['true'], Interval: '1h' })
    await put(server, 'check/pass/service:api?note=well')
    await server.services.get(localServices).stop()
    const path = join(server.folder, 'agent-services.json')
    t.equal((await stat(path)).mode & 0o777, 0o600)
    t.match(JSON.parse(await readFile(path, 'utf8')), {
      version: 1,
      services: [{ id: 'api' }],
      checks: [{ status: 'passing', output: 'well' }, { definition: { id: 'script' } }],
    })
  },
)

void t.test('only who may write a service or the node may register', async (t) => {
  const authorizer: Authorizer = {
    resolve: () => ({
      may: (wanted) =>
        wanted.resource === 'none' || ('service' in wanted && wanted.service === 'api'),
    }),
  }
  const server = await serverOfOne(t, { begin: false, authorizer })
  const check = { Name: 'c', TTL: '1m' }
  t.equal((await put(server, 'service/register', { Name: 'db' })).status, 403)
  t.equal((await put(server, 'service/register', { Name: 'api', Check: check })).status, 200)
  t.equal((await put(server, 'check/register', check)).status, 403)
  t.equal((await put(server, 'check/register', { ...check, ServiceID: 'api' })).status, 200)
  t.equal((await put(server, 'check/pass/c')).status, 200)
  t.equal((await put(server, 'check/pass/unknown')).status, 403, 'whether it is there is not told')
  t.equal((await put(server, 'service/deregister/api')).status, 200)
})

void t.test('ids with slashes are addressed as they are, and percent-encoded', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const get = (path: string) => server.ask('GET', `/v1/${path}`)
  const register = () =>
    put(server, 'service/register', {
      Name: 'shop/web',
      ID: 'shop/web/1',
      Check: { CheckID: 'a/b//c', TTL: '1m' },
    })
  for (const [name, id, check] of [
    ['shop/web', 'shop/web/1', 'a/b//c'],
    ['shop%2Fweb', 'shop%2Fweb%2F1', 'a%2fb%2F%2Fc'],
    ['shop%2Fweb', 'shop/web%2F1', 'a/b%2F/c'],
  ] as const) {
    await register()
    t.match((await get(`agent/service/${id}`)).json(), { ID: 'shop/web/1' }, id)
    t.match((await get(`catalog/service/${name}`)).json(), [{ ServiceID: 'shop/web/1' }])
    t.match((await get(`health/service/${name}`)).json(), [{ Service: { ID: 'shop/web/1' } }])
    t.match((await get(`agent/health/service/id/${id}`)).json(), { Service: { ID: 'shop/web/1' } })
    t.match((await get(`agent/health/service/name/${name}`)).json(), [
      { Service: { ID: 'shop/web/1' } },
    ])
    const statuses = async () =>
      (await checks(server, `/v1/health/checks/${name}`)).map(({ Status }) => Status)
    for (const [word, status] of [
      ['pass', 'passing'],
      ['warn', 'warning'],
      ['fail', 'critical'],
    ] as const) {
      t.match(await put(server, `check/${word}/${check}`), { status: 200 })
      t.same(await statuses(), [status], word)
    }
    t.match(await put(server, `check/update/${check}`, { Status: 'passing' }), { status: 200 })
    t.same(await statuses(), ['passing'])
    t.match(await put(server, `check/deregister/${check}`), { status: 200 })
    t.same(await statuses(), [])
    t.match(await put(server, `service/maintenance/${id}?enable=true`), { status: 200 })
    t.same(await statuses(), ['critical'])
    t.match(await put(server, `service/deregister/${id}`), { status: 200 })
    t.equal((await get(`agent/service/${id}`)).status, 404)
  }
  t.equal((await put(server, 'service/deregister/')).status, 400, 'nothing is no id')
  t.equal((await get('catalog/service/')).status, 400)
})

void t.test('an id takes no path from another route', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const get = (path: string) => server.ask('GET', `/v1/agent/service/${path}`)
  for (const id of ['web', 'deregister/web', 'maintenance/web', 'register', 'register/web']) {
    await put(server, 'service/register', { Name: 'web', ID: id })
  }
  const refused = [
    'deregister/web',
    'maintenance/web',
    '%64eregister/web',
    'maintenance/',
    'maintenance/a/b',
  ]
  for (const path of refused) t.equal((await get(path)).status, 405, path)
  for (const id of ['register', 'register/web', 'deregister%2Fweb', 'maintenance%2fweb']) {
    t.match((await get(id)).json(), { ID: decodeURIComponent(id) }, id)
  }
  const asConsul = { 'x-service-dialect': 'consul' }
  const gone = await server.ask(
    'GET',
    '/v1/agent/service/deregister/web',
    undefined,
    undefined,
    asConsul,
  )
  t.equal(gone.status, 200, 'which GET serves there')
  t.equal((await get('web')).status, 404)
  t.equal((await get('deregister%2Fweb')).status, 200)
})

void t.test('rights are judged by the decoded name', async (t) => {
  let allowed = new Set<unknown>(['a/b', 'a'])
  const authorizer: Authorizer = {
    resolve: () => ({
      may: (wanted) =>
        wanted.resource === 'none' || ('service' in wanted && allowed.has(wanted.service)),
    }),
  }
  const server = await serverOfOne(t, { begin: false, authorizer })
  await put(server, 'service/register', { Name: 'a/b' })
  await put(server, 'service/register', { Name: 'a' })
  for (const path of ['a/b', 'a%2Fb']) {
    allowed = new Set(['a', 'a%2Fb'])
    t.equal((await server.ask('GET', `/v1/agent/service/${path}`)).status, 403, path)
    t.equal((await put(server, `service/deregister/${path}`)).status, 403, path)
    allowed = new Set(['a/b'])
    t.equal((await server.ask('GET', `/v1/agent/service/${path}`)).status, 200, path)
  }
  t.equal((await put(server, 'service/deregister/a')).status, 403)
  t.equal((await put(server, 'service/deregister/a/b')).status, 200)
})
