/** Transactions with operations on nodes, services and checks: alone, beside keys, and as clients in Go write them. */
import t from 'tap'
import type { Requirement } from '../../../src/rpc/method.ts'
import { serverOfOne, type ServerOfOne } from '../server-of-one.ts'

type Reply = {
  Results: Record<string, Record<string, unknown>>[] | null
  Errors: { OpIndex: number; What: string }[] | null
  Index?: number
}

const base64 = (text: string) => Buffer.from(text).toString('base64')

async function txn(server: ServerOfOne, operations: readonly object[], token?: string) {
  const answer = await server.ask('PUT', '/v1/txn', operations, token)
  const { status, body } = answer
  return { status, body, reply: (body.startsWith('{') ? answer.json() : null) as Reply | null }
}

const node = (Verb: string, more: object = {}) => ({
  Node: { Verb, Node: { Node: 'n1', Address: '10.0.0.1', Meta: { rack: 'a' }, ...more } },
})
const service = (Verb: string, more: object = {}) => ({
  Service: { Verb, Node: 'n1', Service: { ID: 'web-1', Service: 'web', Port: 80, ...more } },
})
const check = (Verb: string, more: object = {}) => ({
  Check: {
    Verb,
    Check: { Node: 'n1', CheckID: 'alive', Name: 'alive', Status: 'passing', ...more },
  },
})
const key = (Verb: string, Key: string, more: object = {}) => ({ KV: { Verb, Key, ...more } })

void t.test('what a client in Go sends of a key alone is read: nulls are absent', async (t) => {
  const server = await serverOfOne(t)
  const nulls = { Node: null, Service: null, Check: null }
  const set = { ...key('set', 'a', { Value: base64('1'), Session: null, Namespace: null }) }
  t.equal((await txn(server, [{ ...set, ...nulls }])).status, 200)
  t.equal((await server.ask('GET', '/v1/kv/a?raw')).body, '1')
  const none = await txn(server, [{ KV: null, ...nulls }])
  t.equal(none.status, 400)
  t.match(none.body, /operation 0: KV is missing: an operation has one of KV, Node, Service, Check/)
  const two = await txn(server, [{ ...set, ...node('get') }])
  t.match([two.status, two.body], [400, /operation 0: KV and Node stand together/])
  t.match((await txn(server, [{ ...set, Widget: 1 }])).body, /there is no field "Widget"/)
})

void t.test('a null reads as absent in every body', async (t) => {
  const server = await serverOfOne(t)
  const registered = await server.ask('PUT', '/v1/catalog/register', {
    Node: 'n1',
    Address: '10.0.0.1',
    TaggedAddresses: null,
    NodeMeta: { a: 'b', c: null },
    Service: null,
    Check: null,
    Checks: null,
    Unknown: null,
  })
  t.equal(registered.status, 200, registered.body)
  t.match((await server.ask('GET', '/v1/catalog/node/n1')).json(), { Node: { Meta: { a: 'b' } } })
  const own = { Node: 'one', Address: '127.0.0.1' }
  t.equal((await server.ask('PUT', '/v1/catalog/register', own)).status, 200)
  const checks = { NodeChecks: [] }
  const session = await server.ask('PUT', '/v1/session/create', { Node: null, ...checks })
  t.equal(session.status, 200, session.body)
  const nothing = await server.ask('PUT', '/v1/session/create', Buffer.from('null'))
  t.match(nothing.body, /gossipHealth/, 'as an empty body: the default checks, which are not here')
  t.equal((await server.ask('PUT', '/v1/session/create', { Node: '' })).status, 400)
})

void t.test('nodes, services, checks and keys change at one index, and are shown', async (t) => {
  const server = await serverOfOne(t)
  const { status, reply, body } = await txn(server, [
    node('set'),
    service('set', { Weights: { Passing: 0, Warning: 0 }, Tags: ['x'], Proxy: null }),
    check('set', { ServiceID: 'web-1' }),
    key('set', 'app/web', { Value: base64('n1') }),
    check('get'),
    service('get'),
    node('get'),
  ])
  t.equal(status, 200, body)
  t.match(reply?.Results?.[0], { Node: { Node: 'n1', Address: '10.0.0.1', Meta: { rack: 'a' } } })
  t.match(reply?.Results?.[1], {
    Service: { ID: 'web-1', Service: 'web', Port: 80, Weights: { Passing: 1, Warning: 1 } },
  })
  t.match(reply?.Results?.[2], {
    Check: { CheckID: 'alive', ServiceName: 'web', ServiceTags: ['x'] },
  })
  t.match(reply?.Results?.[3], { KV: { Key: 'app/web', Value: null } })
  const records = (reply?.Results ?? []).flatMap((one) => Object.values(one))
  t.equal(records.length, 7)
  const indexes = new Set(records.flatMap((one) => [one['CreateIndex'], one['ModifyIndex']]))
  t.equal(indexes.size, 1, 'one index')
  const [health] = (await server.ask('GET', '/v1/health/service/web')).json() as object[]
  t.match(health, { Node: { Node: 'n1' }, Checks: [{ CheckID: 'alive', Status: 'passing' }] })

  const again = await txn(server, [node('set'), service('get')])
  const [first] = again.reply?.Results ?? []
  t.same(new Set([first?.['Node']?.['ModifyIndex']]), indexes, 'the same content moves no index')
})

void t.test('one refusal undoes all, of either kind', async (t) => {
  const server = await serverOfOne(t)
  await txn(server, [node('set'), service('set')])
  const { status, reply } = await txn(server, [
    key('set', 'a', { Value: base64('1') }),
    key('get', 'none'),
    node('set', { Node: 'n2', Address: '' }),
    service('get', { ID: 'none' }),
    check('set', { ServiceID: 'none' }),
    { Service: { Verb: 'set', Node: 'n9', Service: { Service: 'web' } } },
    node('cas', { ModifyIndex: 1 }),
    service('delete-cas', { ModifyIndex: 1 }),
    check('delete-cas', { ModifyIndex: 0 }),
    check('cas', { ModifyIndex: 5 }),
    node('set', { Meta: { rack: 'b' } }),
  ])
  t.equal(status, 409)
  t.equal(reply?.Results, null)
  const errors = (reply?.Errors ?? []).map(({ OpIndex, What }) => `${OpIndex} ${What}`)
  t.same(errors, [
    '1 key "none" does not exist',
    '2 node "n2": Address is missing, a new node needs one',
    '3 service "none" on node "n1" does not exist',
    '4 check "alive" on node "n1": the node has no service with the ID "none"',
    '5 service "web" on node "n9": the node does not exist, register it first',
    '6 node "n1" has another index',
    '7 service "web-1" on node "n1" has another index',
    '8 check "alive" on node "n1" has another index',
    '9 check "alive" on node "n1" has another index',
  ])
  t.equal((await server.ask('GET', '/v1/kv/a')).status, 404)
  t.match((await server.ask('GET', '/v1/catalog/node/n1')).json(), {
    Node: { Meta: { rack: 'a' } },
  })
})

void t.test('an operation sees what those before it did', async (t) => {
  const server = await serverOfOne(t)
  const { status, body } = await txn(server, [
    node('set'),
    service('set'),
    check('set', { ServiceID: 'web-1' }),
    service('delete'),
    service('cas', { ModifyIndex: 0, Port: 81 }),
    check('cas', { ModifyIndex: 0, Notes: 'anew' }),
    node('set', { Node: 'gone' }),
    node('delete', { Node: 'gone' }),
  ])
  t.equal(status, 200, body)
  t.match((await server.ask('GET', '/v1/health/node/n1')).json(), [
    { Notes: 'anew', ServiceID: '' },
  ])
  t.match((await server.ask('GET', '/v1/catalog/service/web')).json(), [{ ServicePort: 81 }])
  t.equal((await server.ask('GET', '/v1/catalog/node/gone')).json(), null)

  const [{ ModifyIndex } = { ModifyIndex: 0 }] = (
    await server.ask('GET', '/v1/catalog/nodes')
  ).json() as { ModifyIndex: number }[]
  const right = await txn(server, [node('cas', { ModifyIndex, Meta: { rack: 'c' } })])
  t.equal(right.status, 200, right.body)
  const twice = await txn(server, [
    node('set', { Meta: { rack: 'd' } }),
    node('cas', { ModifyIndex: ModifyIndex + 1, Meta: { rack: 'e' } }),
  ])
  t.equal(twice.status, 409, 'nobody knows the index of what the same transaction changed')
})

void t.test('reads alone are a read, with what a read says of itself', async (t) => {
  const server = await serverOfOne(t)
  await txn(server, [node('set'), key('set', 'a', { Value: base64('1') })])
  const { status, reply } = await txn(server, [node('get'), key('get', 'a')])
  t.equal(status, 200)
  t.match(reply?.Results, [{ Node: { Node: 'n1' } }, { KV: { Value: base64('1') } }])
  t.type(reply?.Index, 'number')
})

void t.test('what the catalog loses ends sessions in the same entry', async (t) => {
  const server = await serverOfOne(t)
  await txn(server, [node('set'), check('set')])
  const made = await server.ask('PUT', '/v1/session/create', {
    Node: 'n1',
    NodeChecks: ['alive'],
    LockDelay: '1s',
  })
  const { ID: session } = made.json() as { ID: string }
  await server.ask('PUT', `/v1/kv/lock?acquire=${session}`, 'mine')
  for (const operation of [
    key('set', 'lock', { Value: base64('other') }),
    key('lock', 'another', { Session: session }),
    key('delete-tree', 'lo'),
  ]) {
    const torn = await txn(server, [check('set', { Status: 'critical' }), operation])
    t.equal(torn.status, 409)
    t.match(torn.reply?.Errors, [
      { OpIndex: 1, What: /depends on a session that another operation ends/ },
    ])
  }
  const ended = await txn(server, [
    check('set', { Status: 'critical' }),
    key('set', 'log', { Value: base64('ended') }),
  ])
  t.equal(ended.status, 200, ended.body)
  t.same((await server.ask('GET', `/v1/session/info/${session}`)).json(), [])
  const [lock] = (await server.ask('GET', '/v1/kv/lock')).json() as { Session?: string }[]
  t.equal(lock?.Session, undefined)
})

void t.test('every operation needs its own right', async (t) => {
  const refused: string[] = []
  const textOf = (asked: Requirement) => JSON.stringify(asked)
  const server = await serverOfOne(t, {
    authorizer: {
      resolve: () => ({
        may: (asked: Requirement) => !refused.some((one) => textOf(asked).includes(one)),
      }),
    },
  })
  t.equal((await txn(server, [node('set'), service('set'), check('set')])).status, 200)
  const all = [
    node('set'),
    service('set'),
    check('set', { ServiceID: 'web-1' }),
    key('set', 'a', { Value: base64('1') }),
  ]
  t.equal((await txn(server, all)).status, 200)
  for (const without of [
    '"node":"n1","access":"write"',
    '"service":"web","access":"write"',
    '"key":"a"',
  ]) {
    refused.splice(0, 1, without)
    t.equal((await txn(server, all)).status, 403, without)
  }
  refused.splice(0, 1, '"access":"read"')
  for (const one of [node('get'), service('get'), check('get')]) {
    t.equal((await txn(server, [one])).status, 403)
  }
  refused.splice(0, 1, '"service":"db"')
  const first = service('set', { ID: 'new', Service: 'db' })
  t.equal(
    (await txn(server, [first, check('set', { CheckID: 'c', ServiceID: 'new' })])).status,
    403,
  )
})

void t.test('bodies that are none are refused, with the place', async (t) => {
  const server = await serverOfOne(t)
  const rows = [
    [{ Node: { Verb: 'set' } }, 400, /operation 0: Node is missing/],
    [{ Node: { Verb: 'set', Node: {} } }, 409, /the name of the node is missing/],
    [node('lock'), 409, /unknown verb .*lock/],
    [node('set', { Widget: 1 }), 400, /operation 0: Node.Widget/],
    [node('set', { ID: 'x' }), 400, /ID of the node must be a UUID/],
    [node('set', { Node: 'n'.repeat(300) }), 400, /^Node must be 1 to 256/],
    [service('get', { ID: 'n'.repeat(300) }), 400, /^ID must be 1 to 256/],
    [service('set', { Port: 70_000 }), 400, /Port of the service/],
    [service('set', { Kind: 'connect-proxy' }), 400, /Kind must be empty/],
    [check('set', { Status: 'well' }), 400, /Status must be/],
    [{ Service: { Verb: 'get', Service: { ID: 'a' } } }, 409, /the node of the service is missing/],
    [{ Check: { Verb: 'get', Check: { Node: 'n1' } } }, 409, /the CheckID of the check is missing/],
  ] as const
  for (const [operation, status, text] of rows) {
    const answer = await txn(server, [operation])
    t.equal(answer.status, status, JSON.stringify(operation))
    t.match(answer.body, text)
  }
})

void t.test('a cluster with older servers says that it cannot yet', async (t) => {
  const server = await serverOfOne(t, { commandVersion: 1 })
  const { status, body } = await txn(server, [node('set')])
  t.equal(status, 501)
  t.match(body, /kv.transact needs every server at command version 2/)
})
