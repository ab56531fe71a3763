/**
 * Each option that the session service's client package has for keys, sessions, health, the catalog, checks of an agent,
 * transactions and watches does what its documentation says. `consul-client.test.ts` shows how they are used together.
 */
import { once } from 'node:events'
import Consul from 'consul'
import t, { type Test } from 'tap'
import { serverOfThree } from '../support/server-of-three.ts'
import { eventuallyTrue } from '../support/eventually.ts'

/** The package's types lack some of the options that its code and documentation have. */
type Family = Readonly<Record<string, (options?: unknown) => Promise<unknown>>>

type Row = readonly [method: string, options: unknown, expected: unknown]

const refused = (text: RegExp): { readonly refused: RegExp } => ({ refused: text })

/** The package shows texts of less than 80 characters, else the name of the status. */
const long = /bad request/

function isRefusal(expected: unknown): expected is ReturnType<typeof refused> {
  return typeof expected === 'object' && expected !== null && 'refused' in expected
}

async function walk(t: Test, client: object, rows: readonly Row[]): Promise<void> {
  const family = client as Family
  for (const [method, options, expected] of rows) {
    const name = `${method} ${JSON.stringify(options)}`
    const asked = family[method]?.(options) ?? Promise.reject(new Error(`no method ${method}`))
    if (isRefusal(expected)) await t.rejects(asked, { message: expected.refused }, name)
    else if (Array.isArray(expected) || expected === undefined) t.same(await asked, expected, name)
    else t.match(await asked, expected, name)
  }
}

/** What is common to all reads. */
const reads = [{ dc: 'dc1' }, { stale: true }, { consistent: true }, { timeout: '10s' }] as const

void t.test('each option of the client package does what it says', async (t) => {
  const cluster = await serverOfThree(t, { servers: 1, gossip: true, prefix: 'Node' })
  const consul = new Consul({ host: '127.0.0.1', port: cluster.server(0).spec.ports.http })
  await eventuallyTrue('the server is a node', async () => {
    return ((await consul.catalog.node.list()) as unknown[]).length === 1
  })
  const session = async (options: object): Promise<string> =>
    (await consul.session.create(options)).ID

  await t.test('keys', async (t) => {
    const id = await session({ ttl: '60s' })
    const key = 'dir/a'
    await walk(t, consul.kv, [
      ['set', { key, value: 'v', flags: 42, cas: 0 }, true],
      ['set', { key, value: 'w', cas: 0 }, undefined],
      ['set', { key, value: 'w', flags: 7, acquire: id }, true],
      ['get', { key }, { Key: key, Value: 'w', Flags: 7, Session: id, LockIndex: 1 }],
      ['set', { key, value: Buffer.from([0, 255]), release: id }, true],
      ['get', { key, buffer: true }, { Value: Buffer.from([0, 255]), LockIndex: 1 }],
      ['get', { key, raw: true }, Buffer.from([0, 255])],
      ['set', { key: 'dir/b/c', value: '' }, true],
      ['set', { key: 'dir/b/d', value: 'ü' }, true],
      ['get', { key: 'dir/', recurse: true }, { 0: { Key: key }, 1: { Value: null }, length: 3 }],
      ['keys', { key: 'dir/', separator: '/' }, ['dir/a', 'dir/b/']],
      ['keys', { key: 'dir/' }, ['dir/a', 'dir/b/c', 'dir/b/d']],
      ...reads.map((common): Row => ['get', { key, ...common }, { Key: key }]),
      ['get', { key, dc: 'mars' }, refused(/datacenter/)],
      ['get', { key, index: 1, wait: '1s' }, { Key: key }],
      ['get', { key, wait: 'x' }, refused(/wait/i)],
      ['del', { key, cas: 1 }, undefined],
      ['del', { key: 'dir/b', recurse: true }, true],
      ['del', { key }, true],
      ['get', { key }, undefined],
      ['keys', { key: 'dir/' }, refused(/not found/)],
      ['set', { key, value: 'v', acquire: 'nonsense' }, refused(/session/)],
    ])
    await walk(t, consul.session, [['destroy', { id }, undefined]])
  })

  await t.test('sessions', async (t) => {
    await consul.agent.check.register({
      name: 'mine',
      ttl: '600s',
      timeout: '1s',
      status: 'passing',
    })
    const options = { lockdelay: '2s', name: 'n', node: 'node1', behavior: 'delete', ttl: '90s' }
    const id = await session({ ...options, checks: ['mine'] })
    const record = {
      ID: id,
      Name: 'n',
      Node: 'Node1',
      LockDelay: 2_000_000_000,
      Behavior: 'delete',
      TTL: '90s',
      Checks: ['mine'],
    }
    const bare = await session({ checks: [] })
    await walk(t, consul.session, [
      ['info', { id }, record],
      ['get', id, record],
      ...reads.map((common): Row => ['info', { id, ...common }, record]),
      ...reads.map((common): Row => ['list', common, { length: 2 }]),
      ...reads.map((common): Row => ['node', { node: 'Node1', ...common }, { length: 2 }]),
      ['node', 'nobody', []],
      ['renew', { id, dc: 'dc1' }, { 0: record }],
      ['info', bare, { NodeChecks: [] }],
      ['create', { ttl: '1s' }, refused(/TTL/)],
      ['create', { behavior: 'keep' }, refused(/Behavior/)],
      ['create', { node: 'nobody' }, refused(/nobody/)],
      ['create', { checks: ['nobody'] }, refused(/nobody/)],
      ['create', { lockdelay: 'soon' }, refused(/LockDelay/)],
      ['destroy', { id, dc: 'dc1' }, undefined],
      ['destroy', bare, undefined],
      ['info', id, undefined],
      ['renew', id, refused(/not found/)],
      ['destroy', 'nonsense', refused(/session/)],
    ])
  })

  await t.test('the catalog', async (t) => {
    const check = {
      checkid: 'disk',
      name: 'Disk',
      status: 'warning',
      notes: 'n',
      serviceid: 'db-1',
    }
    const definition = { tcp: '10.0.0.9:1', intervalduration: '10s', timeoutduration: '1s' }
    await walk(t, consul.catalog, [
      [
        'register',
        {
          id: '0f3f2b62-1d1c-4a5c-9a55-4c0a1a0a0a0a',
          node: 'db',
          address: '10.0.0.9',
          nodemeta: { rack: 'r1' },
          service: {
            id: 'db-1',
            service: 'db',
            address: '10.0.0.10',
            port: 5432,
            tags: ['primary'],
            meta: { version: '1' },
          },
          check: { ...check, node: 'db', status: 'passing' },
        },
        undefined,
      ],
      [
        'register',
        { node: 'db', address: 'x', skipnodeupdate: true, checks: [{ ...check, definition }] },
        undefined,
      ],
      ['register', { node: 'db', address: 'a', id: 'no uuid' }, refused(/UUID/)],
      ['datacenters', {}, ['dc1']],
      ...reads.map((common): Row => ['nodes', common, { length: 2 }]),
      ...reads.map((common): Row => ['services', common, { db: ['primary'] }]),
    ])
    const meta = { 'node-meta': 'rack:r1' }
    await walk(t, consul.catalog.node, [
      ['list', { near: '_agent' }, { length: 2 }],
      ['list', meta, { 0: { Node: 'db', Meta: { rack: 'r1' } }, length: 1 }],
      ['list', { filter: 'Address == "10.0.0.9"' }, { 0: { Node: 'db' }, length: 1 }],
      ['list', { filter: 'Address ==' }, refused(long)],
      ['services', { node: 'db', dc: 'dc1' }, { Services: { 'db-1': { Port: 5432 } } }],
      ['services', { node: 'db', filter: 'Port == 1' }, { Services: {} }],
    ])
    await walk(t, consul.catalog.service, [
      ['list', meta, { db: ['primary'] }],
      ['nodes', { service: 'db', tag: 'primary' }, { 0: { ServiceAddress: '10.0.0.10' } }],
      ['nodes', { service: 'db', tag: 'other' }, []],
      ['nodes', { service: 'db', near: '_agent', ...meta }, { length: 1 }],
      ['nodes', { service: 'db', filter: 'ServiceMeta.version == "2"' }, []],
    ])
    await walk(t, consul.health, [
      ['node', { node: 'db', dc: 'dc1' }, { 0: { CheckID: 'disk', Status: 'warning' } }],
      ['node', { node: 'db', filter: 'Status == "passing"' }, []],
      ['checks', { service: 'db', near: '_agent', ...meta }, { 0: { Definition: { TCP: /:1/ } } }],
      ['service', { service: 'db', tag: 'primary' }, { 0: { Checks: { length: 1 } } }],
      ['service', { service: 'db', passing: true }, []],
      ['service', { service: 'db', filter: 'Service.Port == 5432' }, { length: 1 }],
      ['state', { state: 'warning' }, { length: 1 }],
      ['state', { state: 'any', filter: 'Node == "db"', ...meta }, { length: 1 }],
      ...reads.map((common): Row => ['state', { state: 'critical', ...common }, []]),
      ...reads.map((common): Row => ['service', { service: 'db', ...common }, { length: 1 }]),
    ])
    await walk(t, consul.catalog, [
      ['deregister', { node: 'db', checkid: 'disk' }, undefined],
      ['deregister', { node: 'db', serviceid: 'db-1' }, undefined],
      ['deregister', 'db', undefined],
      ['nodes', {}, { length: 1 }],
    ])
  })

  await t.test('services and checks of the agent', async (t) => {
    const often = { interval: '10h', timeout: '1s' }
    const thresholds = {
      failuresbeforewarning: 1,
      failuresbeforecritical: 2,
      successbeforepassing: 1,
    }
    const http = {
      http: 'http://127.0.0.1:1/',
      method: 'POST',
      header: { 'X-A': ['b'] },
      body: 'b',
      disableredirects: true,
      tlsskipverify: true,
      tlsservername: 'a',
      outputmaxsize: 100,
    }
    await walk(t, consul.agent.service, [
      [
        'register',
        {
          id: 'web-1',
          name: 'web',
          tags: ['a'],
          meta: { v: '1' },
          address: '10.0.0.1',
          port: 80,
          taggedaddresses: { lan: { address: '10.0.0.2', port: 81 } },
          check: { checkid: 'up', name: 'Up', ttl: '600s', status: 'passing', notes: 'n' },
        },
        undefined,
      ],
      [
        'register',
        { name: 'two', checks: [{ ttl: '1h' }, { tcp: '127.0.0.1:1', ...often }] },
        undefined,
      ],
      ['register', { name: 'mesh', connect: { native: true } }, refused(long)],
      ['register', { name: 'plain', connect: { native: false } }, undefined],
      [
        'list',
        { filter: 'Service == "web"' },
        { 'web-1': { Port: 80, TaggedAddresses: { lan: { Port: 81 } }, Meta: { v: '1' } } },
      ],
      ['maintenance', { id: 'web-1', enable: true, reason: 'works' }, undefined],
      ['deregister', 'plain', undefined],
      ['deregister', { id: 'none' }, refused(/none/)],
    ])
    const resting = { '_service_maintenance:web-1': { Status: 'critical', Notes: 'works' } }
    await walk(t, consul.agent.check, [
      ['list', {}, resting],
      ['register', { name: 'ttl', id: 'ttl', ttl: '1h', notes: 'n', status: 'warning' }, undefined],
      [
        'register',
        { name: 'http', serviceid: 'web-1', ...http, ...often, ...thresholds },
        undefined,
      ],
      ['register', { name: 'tcp', tcp: 'localhost:1', ...often }, undefined],
      ['register', { name: 'grpc', grpc: 'localhost:1/x', grpcusetls: true, ...often }, undefined],
      [
        'register',
        { name: 'end', serviceid: 'two', ttl: '1h', deregistercriticalserviceafter: '90m' },
        undefined,
      ],
      ['register', { name: 'script', args: ['/bin/true'], ...often }, refused(long)],
      ['register', { name: 'old', script: '/bin/true', ...often }, refused(/kind/)],
      ['register', { name: 'udp', udp: 'localhost:1', ...often }, refused(/UDP/)],
      ['register', { name: 'h2', h2ping: 'localhost:1', ...often }, refused(/H2PING/)],
      ['register', { name: 'alias', aliasservice: 'web-1' }, refused(/Alias/)],
      ['list', { filter: 'CheckID == ttl' }, { ttl: { Status: 'warning', Notes: 'n' } }],
      ['pass', { id: 'ttl', note: 'fine' }, undefined],
      ['list', {}, { ttl: { Status: 'passing', Output: 'fine' } }],
      ['warn', { id: 'ttl', note: 'so so' }, undefined],
      ['list', {}, { ttl: { Status: 'warning', Output: 'so so' } }],
      ['fail', 'ttl', undefined],
      ['list', {}, { ttl: { Status: 'critical', Output: '' }, up: { ServiceID: 'web-1' } }],
      ['pass', 'none', refused(/none/)],
      ['deregister', 'ttl', undefined],
      ['deregister', { id: 'ttl' }, refused(/ttl/)],
    ])
  })

  await t.test('maintenance', async (t) => {
    await walk(t, consul.agent, [['maintenance', { enable: true, reason: 'works' }, undefined]])
    const all = { _node_maintenance: { Notes: 'works' } }
    await walk(t, consul.agent.check, [['list', {}, all]])
    await walk(t, consul.agent, [['maintenance', { enable: false }, undefined]])
    await walk(t, consul.agent.service, [
      ['maintenance', { id: 'web-1', enable: false }, undefined],
      ['maintenance', { id: 'none', enable: true }, refused(/none/)],
    ])
    t.notMatch(await consul.agent.check.list(), all)
  })

  await t.test('transactions', async (t) => {
    const value = Buffer.from('v').toString('base64')
    const set = { KV: { Verb: 'set', Key: 'txn/a', Value: value, Flags: 3 } }
    const get = { KV: { Verb: 'get', Key: 'txn/a' } }
    await walk(t, consul.transaction, [
      ['create', [set, get], { Results: { 1: { KV: { Value: value, Flags: 3 } } }, Errors: null }],
      ['create', [get], { Results: { length: 1 } }],
      ['create', [set, { KV: { Verb: 'check-not-exists', Key: 'txn/a' } }], refused(/conflict/i)],
    ])
  })

  await t.test('a watch falls back, goes on, and ends as it is told', async (t) => {
    const list = (options: object) => consul.session.list(options)
    const options = { wait: '1s', consistent: '1', dc: 'dc1' }
    const watch = consul.watch({ method: list, options, backoffFactor: 10, backoffMax: 100 })
    t.teardown(() => watch.end())
    let changes = 0
    watch.on('change', () => (changes += 1))
    watch.on('error', (error: Error) => t.fail(error.message))
    await eventuallyTrue('the first', () => changes === 1)
    t.type(watch.updateTime(), 'number')
    const id = await session({})
    await eventuallyTrue('a change', () => changes === 2)
    await consul.session.destroy(id)
    await eventuallyTrue('another', () => changes === 3)
    watch.end()
    t.notOk(watch.isRunning())
    const bad = consul.watch({ method: list, options: { wait: 'x', timeout: '1s' } })
    const [error] = (await once(bad, 'error')) as [Error]
    t.match(error.message, /wait/i)
    t.notOk(bad.isRunning(), 'a 400 ends it')
  })
})
