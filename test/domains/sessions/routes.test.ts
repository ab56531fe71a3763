import t, { type Test } from 'tap'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

type Shown = {
  ID: string
  Name: string
  Node: string
  LockDelay: number
  Behavior: string
  TTL: string
  NodeChecks: string[]
  ServiceChecks: { ID: string; Namespace: string }[] | null
  Checks?: string[]
  CreateIndex: number
  ModifyIndex: number
}

const unknownId = '6f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a'

async function withNodes(t: Test): Promise<ServerOfOne> {
  const server = await serverOfOne(t)
  const membership = { CheckID: 'gossipHealth', Name: 'Agent membership', Status: 'passing' }
  await register(server, { Node: 'one', Address: '10.0.0.1', Check: membership })
  await register(server, {
    Node: 'External',
    ID: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a',
    Address: '10.0.0.2',
    Service: { ID: 'web1', Service: 'web' },
    Checks: [
      { CheckID: 'Disk', Name: 'disk', Status: 'warning' },
      { CheckID: 'web-up', Name: 'up', Status: 'passing', ServiceID: 'web1' },
      { CheckID: 'bad', Name: 'bad', Status: 'critical' },
    ],
  })
  return server
}

async function register(server: ServerOfOne, body: object): Promise<void> {
  const answer = await server.ask('PUT', '/v1/catalog/register', body)
  if (answer.status !== 200) throw new Error(answer.body)
}

async function create(server: ServerOfOne, body?: unknown, query = ''): Promise<string> {
  const answer = await server.ask('PUT', `/v1/session/create${query}`, body)
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.body}`)
  return (answer.json() as { ID: string }).ID
}

async function info(server: ServerOfOne, id: string): Promise<Shown | undefined> {
  return ((await server.ask('GET', `/v1/session/info/${id}`)).json() as Shown[])[0]
}

const external = (fields: object = {}) => ({ Node: 'external', NodeChecks: [], ...fields })

void t.test("a session of Consul's dialect lives for twice its time to live", async (t) => {
  const server = await withNodes(t)
  const doubled = async (headers: Readonly<Record<string, string>>) => {
    const made = await server.ask('PUT', '/v1/session/create', { TTL: '10s' }, undefined, headers)
    const { ID } = made.json() as { ID: string }
    t.equal((await info(server, ID))?.TTL, '10s')
    return server.sessionRow(ID)?.doubled
  }
  t.equal(await doubled({ 'x-consul-token': '' }), true)
  t.equal(await doubled({ 'x-service-dialect': 'nomad' }), undefined)
  t.equal(await doubled({}), undefined)
})

void t.test('a session is created with its defaults, read, renewed and destroyed', async (t) => {
  const server = await withNodes(t)
  const created = await server.ask('PUT', '/v1/session/create')
  t.equal(created.status, 200)
  t.same(Object.keys(created.json() as object), ['ID'])
  const id = (created.json() as { ID: string }).ID

  const read = await server.ask('GET', `/v1/session/info/${id.toUpperCase()}`)
  const [shown] = read.json() as Shown[]
  const { CreateIndex } = shown ?? { CreateIndex: 0 }
  t.equal(
    JSON.stringify(shown),
    JSON.stringify({
      ID: id,
      Name: '',
      Node: 'one',
      LockDelay: 15_000_000_000,
      Behavior: 'release',
      TTL: '',
      NodeChecks: ['gossipHealth'],
      ServiceChecks: null,
      CreateIndex,
      ModifyIndex: CreateIndex,
    }),
  )
  t.equal(read.headers['x-service-index'], String(CreateIndex))
  for (const url of ['/v1/session/list', '/v1/session/node/ONE']) {
    t.same((await server.ask('GET', url)).json(), [shown], url)
  }

  const renewed = await server.ask('PUT', `/v1/session/renew/${id}`, 'not even JSON')
  t.equal(renewed.status, 200)
  t.same(renewed.json(), [shown])
  const list = await server.ask('GET', '/v1/session/list')
  t.equal(list.headers['x-service-index'], String(CreateIndex), 'a renewal moves no index')

  t.equal((await server.ask('PUT', `/v1/session/destroy/${id}`)).body, 'true')
  t.equal((await server.ask('PUT', `/v1/session/destroy/${id}`)).body, 'true', 'again')
  t.same((await server.ask('GET', `/v1/session/info/${id}`)).json(), [])
  t.same((await server.ask('GET', '/v1/session/list')).json(), [])
  const gone = await server.ask('PUT', `/v1/session/renew/${id}`)
  t.equal(gone.status, 404)
  t.match(gone.body, /not found/)
})

void t.test('fields are kept as they were given', async (t) => {
  const server = await withNodes(t)
  const rows: [given: object, shown: Partial<Shown>][] = [
    [
      { Name: 'n', ID: unknownId, CreateIndex: 3, Frob: 1 },
      { Name: 'n', CreateIndex: Number as never },
    ],
    [{ name: 'lower' }, { Name: 'lower' }],
    [{ TTL: '10000ms' }, { TTL: '10000ms' }],
    [{ TTL: '1h30m' }, { TTL: '1h30m' }],
    [{ TTL: '24h' }, { TTL: '24h' }],
    [{ TTL: '0s' }, { TTL: '0s' }],
    [{ TTL: '' }, { TTL: '' }],
    [{ LockDelay: '100ms' }, { LockDelay: 100_000_000 }],
    [{ LockDelay: '1.5s' }, { LockDelay: 1_500_000_000 }],
    [{ LockDelay: '2h' }, { LockDelay: 7_200_000_000_000 }],
    [{ LockDelay: 30 }, { LockDelay: 30_000_000_000 }],
    [{ LockDelay: 2_000_000 }, { LockDelay: 2_000_000 }],
    [{ LockDelay: '500ns' }, { LockDelay: 500_000_000_000 }],
    [{ Behavior: 'delete' }, { Behavior: 'delete' }],
    [{ Behavior: '' }, { Behavior: 'release' }],
    [{ Node: null }, { Node: 'one' }],
    [
      { Node: 'eXternal', NodeChecks: [] },
      { Node: 'External', NodeChecks: [] },
    ],
    [external({ NodeChecks: ['DISK', 'web-up'] }), { NodeChecks: ['DISK', 'web-up'] }],
    [
      external({ ServiceChecks: [{ ID: 'web-up' }] }),
      { ServiceChecks: [{ ID: 'web-up', Namespace: '' }] },
    ],
    [
      external({ ServiceChecks: [{ ID: 'web-up', Namespace: 'default' }] }),
      { ServiceChecks: [{ ID: 'web-up', Namespace: 'default' }] },
    ],
    [{ Node: 'External', Checks: [] }, { NodeChecks: [] }],
    [{ Checks: ['gossipHealth'] }, { NodeChecks: ['gossipHealth'] }],
    [{ Checks: ['serfHealth'] }, { NodeChecks: ['gossipHealth'] }],
    [external({ Checks: ['Disk'] }), { NodeChecks: [], Checks: ['Disk'] }],
  ]
  for (const [given, expected] of rows) {
    const shown = await info(server, await create(server, given))
    t.match(shown, expected, JSON.stringify(given))
    if (!('Checks' in expected)) t.notOk('Checks' in (shown ?? {}), JSON.stringify(given))
  }
})

void t.test('what is refused, and leaves nothing behind', async (t) => {
  const server = await withNodes(t)
  const rows: [body: unknown, named: RegExp][] = [
    ['{', /JSON/],
    ['[]', /object/],
    ['"x"', /object/],
    [{ Name: 7 }, /Name/],
    [{ Node: 7 }, /Node/],
    [{ Node: '' }, /[Nn]ode/],
    [{ Node: 'nowhere' }, /nowhere/],
    [{ TTL: 10 }, /TTL/],
    [{ TTL: '9.999999999s' }, /TTL/],
    [{ TTL: '86400.000000001s' }, /TTL/],
    [{ TTL: '10' }, /TTL/],
    [{ TTL: '1d' }, /TTL/],
    [{ TTL: '-20s' }, /TTL/],
    [{ TTL: '-0s' }, /TTL/],
    [{ TTL: '+20s' }, /TTL/],
    [{ TTL: '2e1s' }, /TTL/],
    [{ TTL: '１５s' }, /TTL/],
    [{ TTL: '15 s' }, /TTL/],
    [{ LockDelay: '15' }, /LockDelay/],
    [{ LockDelay: '' }, /LockDelay/],
    [{ LockDelay: 0 }, /LockDelay/],
    [{ LockDelay: '0s' }, /LockDelay/],
    [{ LockDelay: '-1s' }, /LockDelay/],
    [{ LockDelay: true }, /LockDelay/],
    [{ LockDelay: {} }, /LockDelay/],
    [{ Behavior: 'Delete' }, /Behavior/],
    [{ Behavior: 1 }, /Behavior/],
    [{ NodeChecks: 'x' }, /NodeChecks/],
    [{ NodeChecks: [1] }, /NodeChecks/],
    [{ ServiceChecks: ['x'] }, /ServiceChecks/],
    [{ NodeChecks: ['none'] }, /"none"/],
    [{ Node: 'External' }, /gossipHealth/],
    [external({ ServiceChecks: [{ ID: 'none' }] }), /"none"/],
    [external({ ServiceChecks: [{ ID: 'web-up', Namespace: 'zz' }] }), /Namespace .*"zz"/],
  ]
  for (const [body, named] of rows) {
    const answer = await server.ask('PUT', '/v1/session/create', body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body, named, JSON.stringify(body))
    t.notMatch(answer.body, /\n/)
  }
  const others: [method: string, url: string, status: number, body?: RegExp][] = [
    ['PUT', '/v1/session/create?ns=*', 400, /namespace/],
    ['PUT', '/v1/session/create?dc=mars', 400, /mars/],
    ['PUT', `/v1/session/destroy/${unknownId}?ns=*`, 400, /namespace/],
    ['PUT', '/v1/session/destroy/nonsense', 400, /UUID/],
    ['PUT', '/v1/session/renew/nonsense', 400, /UUID/],
    ['PUT', '/v1/session/renew/', 400, /Missing/],
    ['PUT', '/v1/session/destroy/', 400, /Missing/],
    ['GET', '/v1/session/info/', 400, /Missing/],
    ['GET', '/v1/session/node/', 400, /Missing/],
    ['GET', '/v1/session/create', 405],
    ['POST', '/v1/session/create', 405],
    ['DELETE', `/v1/session/destroy/${unknownId}`, 405],
    ['GET', '/v1/session/list?index=x', 400],
    ['GET', '/v1/session/list?stale&consistent', 400],
    ['GET', '/v1/session/frob', 404],
  ]
  for (const [method, url, status, body] of others) {
    const answer = await server.ask(method, url)
    t.equal(answer.status, status, `${method} ${url} ${answer.body}`)
    if (body !== undefined) t.match(answer.body, body, url)
  }
  for (const url of ['/v1/session/info/nonsense', '/v1/session/node/nowhere']) {
    t.same((await server.ask('GET', url)).json(), [], url)
  }
  t.same((await server.ask('GET', '/v1/session/list')).json(), [])
})

void t.test('a node is named by name or id', async (t) => {
  const server = await withNodes(t)
  const id = await create(server, external())
  for (const node of ['External', 'external', '0F3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a']) {
    const list = (await server.ask('GET', `/v1/session/node/${node}`)).json() as Shown[]
    t.same(
      list.map(({ ID }) => ID),
      [id],
      node,
    )
  }
})

void t.test('namespaces have their own sessions, and * reads all', async (t) => {
  const server = await withNodes(t)
  await server.ask('PUT', '/v1/namespace/team', {})
  const ours = await create(server)
  const theirs = await create(server, {}, '?ns=team')
  const ids = async (url: string) =>
    ((await server.ask('GET', url)).json() as Shown[]).map(({ ID }) => ID).sort()
  t.same(await ids('/v1/session/list'), [ours])
  t.same(await ids('/v1/session/list?namespace=team'), [theirs])
  t.same(await ids('/v1/session/list?ns=*'), [ours, theirs].sort())
  t.same(await ids('/v1/session/node/one?ns=*'), [ours, theirs].sort())
  t.same(await ids('/v1/session/node/one?ns=team'), [theirs])
  t.equal((await server.ask('PUT', `/v1/session/renew/${theirs}`)).status, 404)
  t.equal((await server.ask('PUT', `/v1/session/renew/${theirs}?ns=team`)).status, 200)
  const acquired = await server.ask('PUT', `/v1/kv/a?acquire=${theirs}`, 'v')
  t.equal(acquired.status, 500, 'a session locks in its own namespace')
  t.equal((await server.ask('DELETE', '/v1/namespace/team')).status, 409)
})

void t.test('a blocked list wakes when a session comes or goes', async (t) => {
  const server = await withNodes(t)
  const before = await server.ask('GET', '/v1/session/list')
  const waiting = server.ask(
    'GET',
    `/v1/session/list?wait=30s&index=${String(before.headers['x-service-index'])}`,
  )
  const id = await create(server)
  const woken = await waiting
  t.equal((woken.json() as Shown[])[0]?.ID, id)
  const until = server.ask(
    'GET',
    `/v1/session/info/${id}?wait=30s&index=${String(woken.headers['x-service-index'])}`,
  )
  await create(server)
  await server.ask('PUT', `/v1/session/destroy/${id}`)
  t.same((await until).json(), [])
})

void t.test("a critical check is told as what passes, in Consul's dialect by 500", async (t) => {
  const server = await withNodes(t)
  for (const body of [external({ NodeChecks: ['bad'] }), external({ Checks: ['bad'] })]) {
    for (const [headers, status] of [
      [{}, 409],
      [{ 'x-service-dialect': 'consul' }, 500],
    ] as const) {
      const answer = await server.ask('PUT', '/v1/session/create', body, undefined, headers)
      t.equal(answer.status, status)
      t.match(answer.body, /Check "bad" is in critical state/)
    }
  }
  const headers = { 'x-service-dialect': 'consul' }
  const none = external({ NodeChecks: ['none'] })
  t.equal((await server.ask('PUT', '/v1/session/create', none, undefined, headers)).status, 400)
})
