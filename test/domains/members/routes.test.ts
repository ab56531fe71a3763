/** The gossip pool over HTTP: what operators and the peers' tools ask. */
import t from 'tap'
import type { KeyOperation, Pool } from '../../../src/domains/members/pool.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { silentLogger, type Logger } from '../../../src/lib/log.ts'
import type { Requirement } from '../../../src/rpc/method.ts'
import { poolMember } from '../../support/pool-member.ts'
import { serverOfOne } from '../server-of-one.ts'

function placeOf(at: number) {
  return { vector: [at, 0, 0, 0, 0, 0, 0, 0], error: 0.5, adjustment: 0.001, height: 0.0001 }
}

function fake() {
  const calls: unknown[] = []
  let broken: ReadonlyMap<string, string> = new Map()
  const pool: Pool = {
    coordinates: () =>
      new Map([
        ['s1.global', placeOf(0.01)],
        ['s2.global', placeOf(0.02)],
        ['stranger', placeOf(0.03)],
      ]),
    members: () => [
      poolMember('s2.global', {
        suspected: true,
        suspicion: {
          incarnation: 3,
          by: 's1.global',
          why: 'no answer',
          path: 'udp',
          toldBy: null,
          confirmedBy: [],
          atMs: 1_000,
          ended: null,
        },
      }),
      poolMember('s1.global'),
    ],
    async join(addresses) {
      calls.push(['join', addresses])
      const errors = addresses
        .filter((address) => address.startsWith('dead') || address.includes('0000'))
        .map((address) => ({
          address,
          error: new MusterError(
            address.endsWith(':2') ? 'conflict' : 'unavailable',
            `${address}: ECONNREFUSED or of another cluster`,
          ),
        }))
      return { joined: addresses.length - errors.length, errors }
    },
    forceLeave(name, prune) {
      calls.push(['force-leave', name, prune])
      if (name === 'x.global') throw new MusterError('not_found', 'no such member')
    },
    keyring: {
      async everywhere(operation: KeyOperation) {
        calls.push(operation)
        return {
          members: 2,
          answered: 2,
          errors: broken,
          keys: new Map([['a2V5', 2]]),
          primaryKeys: new Map([['a2V5', 2]]),
        }
      },
    },
  }
  return {
    pool,
    calls,
    break: () => {
      broken = new Map([['s2.global', 'no room']])
    },
  }
}

t.test('members are listed by name, with the newest suspicion', async (t) => {
  const server = await serverOfOne(t, { pool: fake().pool, begin: false })
  const { status, json } = await server.ask('GET', '/v1/agent/members').then((answer) => ({
    status: answer.status,
    json: answer.json(),
  }))
  t.equal(status, 200)
  t.match(json, {
    ServerName: 'one',
    ServerRegion: 'global',
    ServerDC: 'dc1',
    Members: [
      { Name: 's1.global', Addr: '127.0.0.1', Port: 4648, Status: 'alive', Suspicion: null },
      {
        Name: 's2.global',
        Tags: { role: 'muster' },
        ProtocolCur: 2,
        DelegateMax: 5,
        Suspected: true,
        Suspicion: { By: 's1.global', Path: 'udp', At: '1970-01-01T00:00:01.000Z', Ended: null },
      },
    ],
  })
})

/** The only text for an address that was not joined, whatever the reason. */
const unanswered =
  'cannot join through dead:1: no member answered there; the log of this agent has the reason'

t.test('tools of the session service get their own shapes, by what only they ask', async (t) => {
  const { pool, calls } = fake()
  const server = await serverOfOne(t, { pool, begin: false })
  const members = await server.ask('GET', '/v1/agent/members?segment=_all')
  t.match(members.json(), [
    { Name: 's1.global', Addr: '127.0.0.1', Port: 4648, Status: 1, Tags: { role: 'consul' } },
    { Name: 's2.global', Status: 1, Tags: { role: 'consul' }, ProtocolCur: 2 },
  ])
  const joined = await server.ask('PUT', '/v1/agent/join/a:1')
  t.same([joined.status, joined.body], [200, ''])
  const dead = await server.ask('PUT', '/v1/agent/join/dead:1?wan=1')
  t.same([dead.status, dead.body], [503, unanswered])
  t.equal((await server.ask('PUT', '/v1/agent/force-leave/s2.global?prune=1')).status, 200)
  t.same(calls, [
    ['join', ['a:1']],
    ['join', ['dead:1']],
    ['force-leave', 's2.global', true],
  ])
})

t.test('join counts who answered, and says why nobody did', async (t) => {
  const { pool, calls } = fake()
  const server = await serverOfOne(t, { pool, begin: false })
  const join = (query: string) => server.ask('PUT', `/v1/agent/join${query}`)
  t.same((await join('?address=a:1&address=dead:1')).json(), {
    num_joined: 1,
    error: '',
    warning: unanswered,
  })
  t.same((await join('?address=dead:1')).json(), { num_joined: 0, error: unanswered })
  t.same((await join('?address=dead:2')).json(), {
    num_joined: 0,
    error: 'dead:2: ECONNREFUSED or of another cluster',
  })
  t.equal((await join('')).status, 400)
  t.equal((await join('?address=')).status, 400)
  t.equal((await server.ask('GET', '/v1/agent/join?address=a:1')).status, 405)
  t.same(calls, [
    ['join', ['a:1', 'dead:1']],
    ['join', ['dead:1']],
    ['join', ['dead:2']],
  ])
})

t.test('a token in the place of an address is repeated nowhere', async (t) => {
  const lines: string[] = []
  const log: Logger = {
    ...silentLogger,
    warn: (message, fields) => lines.push(JSON.stringify({ message, ...fields })),
    named: () => log,
  }
  const server = await serverOfOne(t, { pool: fake().pool, begin: false, log })
  const token = '7a4b1c2d-0000-4000-8000-00000000abcd'
  const error =
    'cannot join through what was given, which is left out here as it does not look like an address: write host:port'
  const byPath = await server.ask('PUT', `/v1/agent/join/${token}`)
  t.same([byPath.status, byPath.body], [503, error])
  const byQuery = await server.ask('PUT', `/v1/agent/join?address=${token}`)
  t.same(byQuery.json(), { num_joined: 0, error })
  await server.ask('PUT', '/v1/agent/join/dead:1')
  t.match(lines.join(''), /a join by command failed.*left out.*dead:1: ECONNREFUSED/s)
  t.notOk(lines.join('').includes(token))
})

t.test('force-leave takes names with and without the region, known or not', async (t) => {
  const { pool, calls } = fake()
  const server = await serverOfOne(t, { pool, begin: false })
  const leave = (query: string) => server.ask('POST', `/v1/agent/force-leave${query}`)
  for (const query of ['?node=s2', '?node=s2.global&prune', '?node=x&prune=false']) {
    const { status, body } = await leave(query)
    t.same({ status, body }, { status: 200, body: '' }, query)
  }
  t.equal((await leave('')).status, 400)
  t.equal((await leave('?node=s2&prune=maybe')).status, 400)
  t.same(calls, [
    ['force-leave', 's2.global', false],
    ['force-leave', 's2.global', true],
    ['force-leave', 'x.global', false],
  ])
})

t.test('gossip keys are listed and changed everywhere, under both paths', async (t) => {
  const { pool, calls, break: breakOne } = fake()
  const server = await serverOfOne(t, { pool, begin: false })
  for (const path of ['/v1/operator/gossip/keyring', '/v1/agent/keyring']) {
    t.match((await server.ask('GET', `${path}/list`)).json(), { Keys: { a2V5: 2 }, NumNodes: 2 })
    t.equal((await server.ask('PUT', `${path}/install`, { Key: 'a2V5' })).status, 200)
    t.equal((await server.ask('PUT', `${path}/use`, {})).status, 400)
  }
  const primary = await server.ask('PUT', '/v1/agent/keyring/remove', { Key: 'a2V5' })
  t.equal(primary.status, 409)
  t.match(primary.body, /is the primary gossip key of 2 members and cannot be removed/)
  t.notOk(
    calls.some((call) => JSON.stringify(call).includes('remove')),
    'no member was asked',
  )
  breakOne()
  const { status, body } = await server.ask('PUT', '/v1/agent/keyring/remove', { Key: 'b2xk' })
  t.ok(status >= 500, String(status))
  t.match(body, /1 of 2 members did not remove the key: s2.global: no room/)
  t.equal(calls.filter((call) => JSON.stringify(call).includes('install')).length, 2)
})

t.test("Consul's keyring: the HTTP method says what becomes of the key", async (t) => {
  const { pool, calls } = fake()
  const server = await serverOfOne(t, { pool, begin: false })
  const path = '/v1/operator/keyring'
  const rings = [
    {
      WAN: false,
      Datacenter: 'dc1',
      Segment: '',
      Messages: {},
      Keys: { a2V5: 2 },
      PrimaryKeys: { a2V5: 2 },
      NumNodes: 2,
    },
  ]
  for (const query of ['', '?relay-factor=0', '?local-only=true']) {
    t.same((await server.ask('GET', `${path}${query}`)).json(), rings, query)
  }
  calls.length = 0
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const Key = method === 'DELETE' ? 'b2xk' : 'a2V5'
    const { status, body } = await server.ask(method, path, { Key })
    t.same([status, body], [200, ''], method)
    t.equal((await server.ask(method, path, {})).status, 400, `${method} without a key`)
  }
  t.same(calls, [
    { type: 'install', key: 'a2V5' },
    { type: 'use', key: 'a2V5' },
    { type: 'list' },
    { type: 'remove', key: 'b2xk' },
  ])
  const relayed = await server.ask('POST', `${path}?relay-factor=3`, { Key: 'a2V5' })
  t.same(
    [relayed.status, relayed.body],
    [400, 'relay-factor must be 0: keys travel without relays'],
  )
  t.equal(calls.length, 4, 'what is refused changes nothing')
})

t.test('coordinates of nodes, of one node, and of servers by datacenter', async (t) => {
  const server = await serverOfOne(t, { pool: fake().pool, begin: false })
  const coord = (at: number) => ({
    Vec: [at, 0, 0, 0, 0, 0, 0, 0],
    Error: 0.5,
    Adjustment: 0.001,
    Height: 0.0001,
  })
  const nodes = await server.ask('GET', '/v1/coordinate/nodes')
  const [s1, s2] = [
    { Node: 's1', Segment: '', Coord: coord(0.01) },
    { Node: 's2', Segment: '', Coord: coord(0.02) },
  ]
  t.same(nodes.json(), [s1, s2], 'under the names of the catalog')
  t.equal(nodes.headers['x-consul-index'], '1')
  t.same((await server.ask('GET', '/v1/coordinate/node/s2?dc=dc1')).json(), [s2])
  t.equal((await server.ask('GET', '/v1/coordinate/node/stranger')).status, 404)
  t.equal((await server.ask('GET', '/v1/coordinate/nodes?dc=elsewhere')).status, 400)
  t.same((await server.ask('GET', '/v1/coordinate/datacenters')).json(), [
    { Datacenter: 'dc1', AreaID: 'wan', Coordinates: [s1, s2] },
  ])
  const waited = await server.ask('GET', '/v1/coordinate/nodes?index=1&wait=10ms')
  t.same(waited.json(), [s1, s2], 'a blocking query is answered in the end')
})

t.test('coordinates are shown of nodes that the caller may read', async (t) => {
  const authorizer = {
    resolve: () => ({
      may: (requirement: Requirement) =>
        requirement.resource === 'none' ||
        (requirement.resource === 'node' && requirement.node === 's2'),
    }),
  }
  const server = await serverOfOne(t, { pool: fake().pool, begin: false, authorizer })
  t.match((await server.ask('GET', '/v1/coordinate/nodes')).json(), [{ Node: 's2' }])
  t.equal((await server.ask('GET', '/v1/coordinate/node/s1')).status, 404)
})

t.test('without gossip all of it is 501', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  for (const [method, path] of [
    ['GET', '/v1/agent/members'],
    ['PUT', '/v1/agent/join?address=a'],
    ['PUT', '/v1/agent/force-leave?node=a'],
    ['GET', '/v1/operator/gossip/keyring'],
    ['GET', '/v1/operator/keyring'],
    ['GET', '/v1/coordinate/nodes'],
    ['GET', '/v1/event/list'],
    ['PUT', '/v1/event/fire/x'],
  ] as const) {
    const { status, body } = await server.ask(method, path)
    t.equal(status, 501, path)
    t.match(body, /takes part in no gossip/)
  }
})
