/** `/v1/catalog` and `/v1/health` as clients see them. */
import t from 'tap'
import type { Authorizer } from '../../../src/rpc/authorizer.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

const id1 = '11111111-1111-4111-8111-111111111111'

async function register(server: ServerOfOne, body: Record<string, unknown>) {
  const answer = await server.ask('PUT', '/v1/catalog/register', {
    Node: 'web',
    Address: '192.0.2.1',
    ...body,
  })
  return answer
}

const api = {
  Service: {
    ID: 'api-1',
    Service: 'api',
    Tags: ['v1', 'Blue'],
    Port: 8080,
    Meta: { zone: 'a' },
    TaggedAddresses: { lan: { Address: '10.0.0.1', Port: 80 } },
  },
  Checks: [
    { Name: 'ping', Status: 'passing', ServiceID: 'api-1', Definition: { HTTP: 'http://x' } },
    { CheckID: 'disk', Status: 'warning', Notes: 'half full' },
  ],
}

void t.test('what is registered is read back in the peer’s shapes', async (t) => {
  const server = await serverOfOne(t)
  const answer = await register(server, { ID: id1, NodeMeta: { rack: 'r1' }, ...api })
  t.match(answer, { status: 200, body: 'true' })
  t.match(answer.headers['content-type'], 'application/json')
  const get = async (url: string) => (await server.ask('GET', url)).json()

  const index = ((await get('/v1/catalog/nodes')) as { ModifyIndex: number }[])[0]?.ModifyIndex
  t.match(await get('/v1/catalog/nodes'), [
    {
      ID: id1,
      Node: 'web',
      Address: '192.0.2.1',
      Datacenter: 'dc1',
      Meta: { rack: 'r1' },
      TaggedAddresses: {},
      CreateIndex: index,
    },
  ])
  t.same(await get('/v1/catalog/services'), { api: ['Blue', 'v1'] })
  t.same(await get('/v1/catalog/datacenters'), ['dc1'])
  const instance = {
    ID: id1,
    Node: 'web',
    ServiceID: 'api-1',
    ServiceName: 'api',
    ServiceTags: ['v1', 'Blue'],
    ServiceAddress: '',
    ServicePort: 8080,
    ServiceMeta: { zone: 'a' },
    ServiceTaggedAddresses: { lan: { Address: '10.0.0.1', Port: 80 } },
    ServiceWeights: { Passing: 1, Warning: 1 },
    ServiceEnableTagOverride: false,
    ModifyIndex: index,
  }
  t.match(await get('/v1/catalog/service/API'), [instance])
  t.match(await get('/v1/catalog/service/api?tag=V1&tag=blue&node-meta=rack:r1'), [instance])
  t.same(await get('/v1/catalog/service/api?tag=v2'), [])
  t.same(await get('/v1/catalog/service/api?node-meta=rack:r2'), [])
  for (const name of ['web', 'WEB', id1]) {
    t.match(await get(`/v1/catalog/node/${name}`), {
      Node: { Node: 'web' },
      Services: { 'api-1': { ID: 'api-1', Service: 'api', Port: 8080 } },
    })
  }
  t.equal(await get('/v1/catalog/node/none'), null)
  t.match(await get('/v1/catalog/node-services/web'), {
    Node: { Node: 'web' },
    Services: [{ ID: /./, Service: /./ }],
  })
  t.same(await get('/v1/catalog/node-services/none'), { Node: null, Services: [] })

  const ping = {
    Node: 'web',
    CheckID: 'ping',
    Name: 'ping',
    Status: 'passing',
    Notes: '',
    Output: '',
    ServiceID: 'api-1',
    ServiceName: 'api',
    ServiceTags: ['v1', 'Blue'],
    Type: '',
    Definition: { HTTP: 'http://x' },
    CreateIndex: index,
    ModifyIndex: index,
  }
  t.same(await get('/v1/health/checks/api'), [ping])
  t.match(await get('/v1/health/node/Web'), [{ CheckID: 'disk', ServiceTags: [] }, ping])
  t.match(await get(`/v1/health/node/${id1}`), [{ CheckID: 'disk' }, ping])
  t.same(await get('/v1/health/state/passing'), [ping])
  t.equal(((await get('/v1/health/state/any')) as unknown[]).length, 2)
  for (const url of ['node/none', 'state/none', 'checks/none', 'service/none', 'state/critical']) {
    t.same(await get(`/v1/health/${url}`), [], url)
  }
  t.match(await get('/v1/health/service/api'), [
    { Node: { Node: 'web' }, Service: { ID: 'api-1' }, Checks: [{ CheckID: 'disk' }, ping] },
  ])
  t.same(await get('/v1/health/service/api?passing'), [], 'the node only warns')
  await register(server, { SkipNodeUpdate: true, Check: { CheckID: 'disk', Status: 'passing' } })
  t.equal(((await get('/v1/health/service/api?passing=1')) as unknown[]).length, 1)
})

void t.test('lists take filter expressions', async (t) => {
  const server = await serverOfOne(t)
  await register(server, { ID: id1, ...api })
  await register(server, { Node: 'db', Address: '192.0.2.2', NodeMeta: { rack: 'r2' } })
  const rows: readonly (readonly [string, string, number])[] = [
    ['/v1/catalog/nodes', 'Meta.rack == "r2"', 1],
    ['/v1/catalog/service/api', '"v1" in ServiceTags and ServicePort == 8080', 1],
    ['/v1/health/state/any', 'Status != "passing"', 1],
    ['/v1/health/service/api', 'any Checks as c { c.Status == "warning" }', 1],
    ['/v1/health/node/web', 'ServiceID == ""', 1],
    ['/v1/health/checks/api', 'Name matches "^x"', 0],
  ]
  for (const [path, filter, count] of rows) {
    const answer = await server.ask('GET', `${path}?filter=${encodeURIComponent(filter)}`)
    t.equal((answer.json() as unknown[]).length, count, `${path} ${filter}`)
  }
  const answer = await server.ask('GET', '/v1/catalog/nodes?filter=Nothing==1')
  t.equal(answer.status, 400)
})

void t.test('what is wrong in a registration is named and changes nothing', async (t) => {
  const server = await serverOfOne(t)
  const rows: readonly (readonly [Record<string, unknown>, RegExp])[] = [
    [{ Node: '' }, /Missing Node/],
    [{ Address: '' }, /Missing Address/],
    [{ ID: 'x' }, /UUID/],
    [{ Nonsense: 1 }, /Nonsense/],
    [{ Node: 7 }, /Node must be a string/],
    [{ Service: { Service: 'a', Oops: 1 } }, /Service\.Oops/],
    [{ Service: { Service: 'a', Port: 70_000 } }, /Port/],
    [{ Service: { Service: 'a', Address: '::' } }, /leave it empty for the address/],
    [{ Check: { Name: 'c', ServiceID: 'nobody' } }, /nobody/],
    [{ Check: { Name: 'c', Status: 'fine' } }, /fine/],
    [{ Check: { Name: 'c', Node: 'other' } }, /Node of check/],
    [{ Check: { Status: 'passing' } }, /Missing Name/],
    [{ Datacenter: 'mars' }, /dc1/],
    [{ Node: 'a\u0007b' }, /printable/],
    [{ NodeMeta: { 'bad key': 'x' } }, /NodeMeta/],
  ]
  for (const [body, text] of rows) {
    const answer = await register(server, body)
    t.equal(answer.status, 400, JSON.stringify(body))
    t.match(answer.body, text)
  }
  t.equal((await server.ask('PUT', '/v1/catalog/register', 'no json')).status, 400)
  t.equal((await server.ask('PUT', '/v1/catalog/deregister', {})).status, 400)
  t.equal((await server.ask('GET', '/v1/catalog/nodes?dc=mars')).status, 400)
  t.equal((await server.ask('GET', '/v1/catalog/nodes?ns=other')).status, 400)
  for (const path of ['catalog/service', 'catalog/node', 'health/node', 'health/state']) {
    const answer = await server.ask('GET', `/v1/${path}/`)
    t.equal(answer.status, 400, path)
    t.match(answer.body, /Missing/)
  }
  t.same((await server.ask('GET', '/v1/catalog/nodes')).json(), [])
})

void t.test(
  'field names match in any letter case, and a status that is not given is critical',
  async (t) => {
    const server = await serverOfOne(t)
    const answer = await server.ask('PUT', '/v1/catalog/register?dc=DC1', {
      node: 'web',
      ADDRESS: '192.0.2.1',
      check: { name: 'c' },
    })
    t.equal(answer.status, 200)
    t.match((await server.ask('GET', '/v1/health/state/critical')).json(), [{ Name: 'c' }])
  },
)

void t.test(
  'deregistration takes a check, a service or all, and says true of what is not there',
  async (t) => {
    const server = await serverOfOne(t)
    await register(server, api)
    const remove = (body: object) => server.ask('PUT', '/v1/catalog/deregister', body)
    const names = async () =>
      ((await server.ask('GET', '/v1/health/state/any')).json() as { CheckID: string }[]).map(
        (check) => check.CheckID,
      )
    t.match(await remove({ Node: 'nobody' }), { status: 200, body: 'true' })
    await remove({ Node: 'web', CheckID: 'disk' })
    t.same(await names(), ['ping'])
    await remove({ Node: 'web', ServiceID: 'api-1' })
    t.same(await names(), [])
    await remove({ Node: 'web' })
    t.same((await server.ask('GET', '/v1/catalog/nodes')).json(), [])
  },
)

void t.test(
  'indexes are those of the last change, and readers wait for changes of their own rows',
  async (t) => {
    const server = await serverOfOne(t)
    await register(server, api)
    const indexOf = async (url: string) =>
      Number((await server.ask('GET', url)).headers['x-service-index'])
    const nodes = await indexOf('/v1/catalog/nodes')
    const health = await indexOf('/v1/health/state/any')
    t.ok(nodes > 0)
    await register(server, api)
    t.equal(await indexOf('/v1/health/state/any'), health, 'identical')
    await register(server, { SkipNodeUpdate: true, Check: { CheckID: 'disk', Status: 'passing' } })
    t.equal(await indexOf('/v1/catalog/nodes'), nodes, 'nodes did not change')
    const index = await indexOf('/v1/health/node/web')
    t.ok(index > health)

    const waiting = server.ask('GET', `/v1/health/node/web?index=${index}&wait=60s`)
    await register(server, { Node: 'db', Address: '192.0.2.2', Check: { Name: 'c' } })
    await server.ask('PUT', '/v1/catalog/deregister', { Node: 'web', CheckID: 'disk' })
    const woken = await waiting
    t.ok(Number(woken.headers['x-service-index']) > index)
    t.equal((woken.json() as unknown[]).length, 1)
  },
)

void t.test('callers see and change what they may', async (t) => {
  /** May read node web and service api, and write service api. */
  const authorizer: Authorizer = {
    resolve: ({ token }) => ({
      may: (wanted) => {
        if (token === 'all' || wanted.resource === 'none') return true
        if (wanted.resource === 'node') return wanted.node === 'web' && wanted.access === 'read'
        return wanted.resource === 'service' && wanted.service === 'api'
      },
    }),
  }
  const server = await serverOfOne(t, { authorizer, begin: false })
  const ask = (method: string, url: string, body?: unknown) =>
    server.ask(method, `${url}?token=all`, body)
  await ask('PUT', '/v1/catalog/register', { Node: 'db', Address: '192.0.2.2' })
  await ask('PUT', '/v1/catalog/register', { Node: 'web', Address: '192.0.2.1', ...api })

  const answer = await server.ask('GET', '/v1/catalog/nodes')
  t.match(answer.json(), [{ Node: 'web' }])
  t.equal((answer.json() as unknown[]).length, 1)
  for (const prefix of ['service', 'consul', 'nomad']) {
    const name = `x-${prefix}-results-filtered-by-acls`
    t.equal(answer.headers[name], undefined, 'no token was sent')
  }
  const withToken = await server.ask('GET', '/v1/catalog/nodes?token=some')
  for (const prefix of ['service', 'consul', 'nomad']) {
    t.equal(withToken.headers[`x-${prefix}-results-filtered-by-acls`], 'true', prefix)
  }
  const own = await server.ask('GET', '/v1/health/node/web')
  t.equal(own.headers['x-service-results-filtered-by-acls'], undefined)
  t.equal((own.json() as unknown[]).length, 2)
  t.equal((await server.ask('GET', '/v1/catalog/node/db')).json(), null)

  t.equal((await register(server, { ID: id1 })).status, 403, 'the node')
  t.equal((await register(server, {})).status, 403, 'nothing')
  t.equal((await register(server, { Check: { Name: 'disk' } })).status, 403, 'a check of the node')
  const check = { Name: 'ping', ServiceID: 'api-1', Status: 'critical' }
  t.equal((await register(server, { Check: check })).status, 200, 'a check of its service')
  t.equal((await register(server, { Service: { Service: 'other' } })).status, 403)
  const remove = (body: object) => server.ask('PUT', '/v1/catalog/deregister', body)
  t.equal((await remove({ Node: 'web' })).status, 403)
  t.equal((await remove({ Node: 'web', CheckID: 'disk' })).status, 403)
  t.equal((await remove({ Node: 'web', ServiceID: 'api-1' })).status, 200)
})
