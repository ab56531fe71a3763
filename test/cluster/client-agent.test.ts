/** Client agents beside real servers: a node like theirs, and a way to all that they offer. */
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import { Authority, writeTlsFiles } from '../support/certificates.ts'
import { knowsServers, startClientAgent, type ClientAgent } from '../support/client-agent.ts'
import { sharedCluster, startCluster, type Cluster } from '../support/cluster.ts'
import { detection, eventually, eventuallyTrue, type Patience } from '../support/eventually.ts'
import { freePorts } from '../support/free-ports.ts'
import { everything } from '../support/everything.ts'
import type { HttpClient } from '../support/http-client.ts'
import { Variables } from '../support/variables.ts'
import { SteadyWriter } from '../support/writer.ts'

type ShownCheck = Readonly<
  Record<'CheckID' | 'Status' | 'Output', string> & Record<'ModifyIndex', number>
>

async function checksOf(http: HttpClient, node = 'c1'): Promise<readonly ShownCheck[]> {
  return (await http.json('GET', `/v1/health/node/${node}`)) as ShownCheck[]
}

async function becomes(http: HttpClient, id: string, wanted: string, patience: Patience = {}) {
  const found = async () => (await checksOf(http)).find(({ CheckID }) => CheckID === id)?.Status
  await eventuallyTrue(`${id} is ${wanted}`, async () => (await found()) === wanted, patience)
}

/** 200, and what came with it. */
async function put(http: HttpClient, path: string, body?: unknown): Promise<string> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const reply = await http.request('PUT', path, body === undefined ? {} : { body: text })
  if (reply.status === 200) return reply.body.toString()
  throw new Error(`PUT ${path}: ${reply.status} ${reply.body.toString()}`)
}

async function idOf(created: Promise<string>): Promise<string> {
  return (JSON.parse(await created) as { readonly ID: string }).ID
}

/** The status line and the body of the answer to a request that is sent as it stands. */
async function said(port: number, raw: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  const [head = '', ...lines] = raw.split('\r\n')
  socket.write([head, 'Host: localhost', 'Connection: close', ...lines].join('\r\n'), 'latin1')
  const continues = 'HTTP/1.1 100 Continue\r\n\r\n'
  const answer = (await everything(socket)).replace(continues, '')
  const end = answer.indexOf('\r\n\r\n')
  return `${answer.slice(0, answer.indexOf('\r\n'))} ${answer.slice(end + 4)}`
}

const clusterOfThree = sharedCluster(t, { gossip: true })

async function started(t: Test, config: Readonly<Record<string, unknown>> = {}) {
  const cluster = await clusterOfThree()
  return { cluster, client: await startClientAgent(t, cluster, { config }) }
}

void t.test('a client agent is a node, and follows what becomes of its process', async (t) => {
  const { cluster, client } = await started(t, { leave_on_terminate: true })
  for (const at of cluster.all) await becomes(cluster.http(at), 'gossipHealth', 'passing')
  const self = await client.http.json('GET', '/v1/agent/self')
  const { node_id: id } = (self as { stats: { client: { node_id: string } } }).stats.client
  const follower = await cluster.follower()
  const server = cluster.http(follower)
  t.match(await server.json('GET', '/v1/catalog/node/c1'), { Node: { ID: id, Node: 'c1' } })
  t.match(await server.json('GET', '/v1/agent/members'), { Members: { length: 4 } })

  const session = await idOf(put(client.http, '/v1/session/create', { LockDelay: '1s' }))
  t.match(await server.json('GET', `/v1/session/info/${session}`), [{ Node: 'c1' }])
  t.equal(await put(client.http, `/v1/kv/lock?acquire=${session}`, 'held'), 'true')
  await client.process.kill()
  await becomes(server, 'gossipHealth', 'critical', detection)
  t.same(await server.json('GET', `/v1/session/info/${session}`), [], 'its session went with it')
  t.notMatch(await server.json('GET', '/v1/kv/lock'), [{ Session: session }])

  await client.process.start()
  await knowsServers(client)
  await becomes(server, 'gossipHealth', 'passing', detection)
  t.match(await server.json('GET', '/v1/catalog/node/c1'), { Node: { ID: id } }, 'the same node')
  await client.process.terminate()
  await eventuallyTrue('the node is gone', async () => {
    return (await server.json('GET', '/v1/catalog/node/c1')) === null
  })
})

void t.test('whatever servers answer it answers, and everything reaches the leader', async (t) => {
  const { cluster, client } = await started(t)
  const follower = await cluster.follower()
  const server = cluster.http(follower)
  const serverPort = cluster.server(follower).spec.ports.http
  await becomes(server, 'gossipHealth', 'passing')
  const big = Buffer.alloc(400_000, 'x').toString()
  t.equal(await put(client.http, '/v1/kv/app/a', 'one'), 'true')
  t.equal(await put(client.http, '/v1/kv/app/big', big), 'true')
  await put(client.http, '/v1/var/app/db', { Items: { password: 'secret' } })
  const paths = [
    '/v1/kv/app/a',
    '/v1/kv/app/a?raw',
    '/v1/kv/app/big?raw',
    '/v1/kv/app?recurse',
    '/v1/kv/none',
    '/v1/var/app/db',
    '/v1/vars?prefix=app',
    '/v1/catalog/nodes',
    '/v1/catalog/datacenters',
    '/v1/health/state/any',
    '/v1/status/leader',
    '/v1/operator/raft/configuration',
    '/v1/session/list',
    '/v1/namespaces?pretty',
    '/v1/kv/app?consistent&keys',
    '/v1/kv/app/a?index=x',
    '/v1/kv/app/a?region=other',
    '/v1/nope',
    '/v1/kv/%zz',
  ]
  for (const path of paths) {
    for (const headers of [{}, { 'accept-encoding': 'gzip' }]) {
      const [here, there] = await Promise.all([
        client.http.request('GET', path, { headers }),
        server.request('GET', path, { headers }),
      ])
      t.equal(here.status, there.status, path)
      t.same(here.body, there.body, path)
      for (const name of [
        'content-type',
        'content-encoding',
        'x-service-index',
        'x-consul-index',
      ]) {
        t.equal(here.headers[name], there.headers[name], `${name} of ${path}`)
      }
    }
  }
  for (const [method, path, body] of [
    ['DELETE', '/v1/status/leader', undefined],
    ['PUT', '/v1/session/create', '{bad'],
    ['PUT', '/v1/session/create', '[1]'],
    ['PUT', '/v1/session/create', '{"TTL":"1s"}'],
    ['PUT', '/v1/kv/big', Buffer.alloc(600_000)],
    ['POST', '/v1/txn', '{}'],
  ] as const) {
    const options = body === undefined ? {} : { body }
    const here = await client.http.request(method, path, options)
    const there = await server.request(method, path, options)
    t.same([here.status, here.body.toString()], [there.status, there.body.toString()], path)
  }

  await put(client.http, '/v1/kv/smuggled', 'there')
  const inside = 'DELETE /v1/kv/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const chunked = `${inside.length.toString(16)}\r\n${inside}\r\n0\r\n\r\n`
  for (const raw of [
    'GET /v1/kv/gr\u00fcn?raw HTTP/1.1\r\n\r\n',
    'GET http://elsewhere/v1/kv/app/a?raw HTTP/1.1\r\n\r\n',
    'HEAD /v1/kv/app/a HTTP/1.1\r\n\r\n',
    `DELETE /v1/kv/none HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
    `GET /v1/kv/app/a?raw HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${chunked}`,
    `DELETE /v1/kv/none HTTP/1.1\r\nContent-Length: ${inside.length}\r\n\r\n${inside}`,
    'PUT /v1/kv/app/c HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx',
    'OPTIONS * HTTP/1.1\r\n\r\n',
    'PROPFIND /v1/kv/a HTTP/1.1\r\n\r\n',
    'GET /v1/kv/a%00b HTTP/1.1\r\n\r\n',
    'GET /v1/kv/a?index=1&wait=10ms HTTP/1.1\r\nX-Service-Token: \u00ff\r\n\r\n',
  ]) {
    const [here, there] = await Promise.all([
      said(client.process.spec.ports.http, raw),
      said(serverPort, raw),
    ])
    t.same(here, there, raw.slice(0, 60))
  }
  t.equal((await server.request('GET', '/v1/kv/smuggled?raw')).body.toString(), 'there')

  const { headers } = await client.http.request('GET', '/v1/kv/app/a')
  const index = String(headers['x-service-index'])
  const waiting = client.http.request('GET', `/v1/kv/app/a?index=${index}&wait=60s`, {
    timeoutMs: 70_000,
  })
  await put(server, '/v1/kv/app/a', 'two')
  const woken = await waiting
  t.ok(Number(woken.headers['x-service-index']) > Number(index), 'a blocking query is woken')
  for (const [path, status] of [
    ['/v1/agent/health?type=server', 500],
    ['/v1/agent/schedulers', 400],
    ['/v1/agent/metrics', 200],
    ['/v1/agent/nothing', 404],
    ['/v1/metrics', 200],
  ] as const) {
    t.equal((await client.http.request('GET', path)).status, status, path)
  }
  t.equal((await client.http.request('PUT', '/v1/agent/join?address=x')).status, 501)
  for (const named of [server, client.http]) {
    const { member } = (await named.json('GET', '/v1/agent/self')) as { member: { Name: string } }
    const host = `/v1/agent/host?server_id=${member.Name}`
    const answer = { AgentID: member.Name }
    for (const http of [server, client.http]) t.match(await http.json('GET', host), answer)
  }
})

void t.test('services and checks run beside their users, and the catalog has them', async (t) => {
  const { cluster, client } = await started(t, { enable_script_checks: true })
  const server = cluster.http(await cluster.follower())
  await put(client.http, '/v1/agent/service/register', {
    Name: 'web',
    Port: 80,
    Tags: ['a'],
    Meta: { z: '1', b: '2', 10: 'x', 9: 'y' },
    TaggedAddresses: { wan: { Address: '192.0.2.1', Port: 8 }, lan: { Address: '192.0.2.2' } },
    Checks: [
      { CheckID: 'own', TTL: '60s' },
      { CheckID: 'script', Args: ['/bin/sh', '-c', 'echo well'], Interval: '1s' },
    ],
  })
  t.match(await server.json('GET', '/v1/catalog/service/web'), [{ Node: 'c1', ServicePort: 80 }])
  await becomes(server, 'script', 'passing')
  await put(client.http, '/v1/agent/check/pass/own?note=fine')
  t.match(
    await server.json('GET', '/v1/health/service/web?passing'),
    [{ Checks: [{}, { CheckID: 'own', Output: 'fine' }, { Output: 'well\n' }] }],
    'at once',
  )

  const session = await idOf(
    put(client.http, '/v1/session/create', { ServiceChecks: [{ ID: 'own' }], LockDelay: '1s' }),
  )
  t.equal(await put(client.http, `/v1/kv/lock?acquire=${session}`, 'held'), 'true')
  await put(client.http, '/v1/agent/check/fail/own')
  t.same(await server.json('GET', `/v1/session/info/${session}`), [], 'the check took it along')
  await put(client.http, '/v1/agent/check/pass/own')

  // The same after a restart, and nothing of it is written again.
  const before = await checksOf(server)
  const service = await server.json('GET', '/v1/catalog/service/web')
  await client.process.terminate()
  await client.process.start()
  await knowsServers(client)
  await becomes(server, 'script', 'passing')
  t.match(await client.http.json('GET', '/v1/agent/services'), { web: { Port: 80 } })
  await put(client.http, '/v1/agent/service/register', { Name: 'other' })
  await eventually('the catalog was compared', async () => {
    const found = await server.json('GET', '/v1/catalog/service/other')
    return (found as unknown[]).length === 1 ? true : undefined
  })
  t.same(await server.json('GET', '/v1/catalog/service/web'), service)
  const indexOf = (checks: readonly ShownCheck[]) =>
    checks.find(({ CheckID }) => CheckID === 'own')?.ModifyIndex
  t.equal(indexOf(await checksOf(server)), indexOf(before))

  // What somebody else took out comes back with the next change, and what is not the agent's goes.
  await put(server, '/v1/catalog/deregister', { Node: 'c1', ServiceID: 'web' })
  await put(server, '/v1/catalog/register', {
    Node: 'c1',
    SkipNodeUpdate: true,
    Service: { Service: 'stray' },
  })
  await put(client.http, '/v1/agent/service/deregister/other')
  await eventuallyTrue('web alone is there', async () => {
    const { Services } = (await server.json('GET', '/v1/catalog/node/c1')) as {
      readonly Services: object
    }
    return Object.keys(Services).join() === 'web'
  })
})

void t.test('servers die under it, and what it acknowledged is there', async (t) => {
  const { cluster, client } = await started(t)
  const writer = new SteadyWriter([new Variables(client.http)], 'through')
  t.teardown(() => writer.stop())
  const more = async (count: number) => {
    const wanted = writer.accepted.length + count
    await eventuallyTrue('writes go on', () => writer.accepted.length >= wanted, {
      timeoutMs: 60_000,
    })
  }
  await more(50)
  for (const round of [1, 2]) {
    const leader = await cluster.waitForLeader()
    await cluster.kill(leader)
    await more(50)
    await cluster.restart(leader)
    await cluster.waitForLeader()
    t.pass(`round ${round}`)
  }
  // One that stands still says nothing: whoever asked it is told once gossip has noticed.
  const paused = await cluster.follower()
  await put(
    client.http,
    `/v1/agent/servers?address=127.0.0.1:${cluster.server(paused).spec.ports.http}`,
  )
  await more(5)
  cluster.pause(paused)
  await more(50)
  cluster.resume(paused)
  await writer.stop()
  const at = await cluster.waitForLeader()
  for (const { path, value } of writer.accepted) {
    const outcome = await cluster.variables(at).read(path)
    if (outcome.type !== 'ok' || outcome.seen.value !== value) t.fail(`${path} is lost`)
  }
  t.comment(`${writer.accepted.length} writes, ${writer.failed} of them failed or unknown`)
})

void t.test('events come through, as lines and as messages, in plain and over TLS', async (t) => {
  const cluster = await startCluster(t, { gossip: true, servers: 1 })
  await follows(t, cluster, await startClientAgent(t, cluster))

  const [authority, stranger] = [await Authority.create(), await Authority.create()]
  const folder = t.testdir()
  const own = await writeTlsFiles(folder, 'own', authority.cert, await authority.issue())
  const other = await writeTlsFiles(folder, 'other', stranger.cert, await stranger.issue())
  const [secure = 0] = await freePorts(1)
  const { http, ops } = cluster.server(0).spec.ports
  const files = { tls_cert_file: own.certFile, tls_key_file: own.keyFile }
  await cluster.reconfigure(0, {
    listener: [
      { purpose: 'api', address: `127.0.0.1:${secure}`, ...files },
      { purpose: 'api', address: `127.0.0.1:${http}`, tls_disable: true },
      { purpose: 'ops', address: `127.0.0.1:${ops}`, tls_disable: true },
    ],
  })
  await cluster.waitForLeader()
  const trusting = { name: 'c2', config: { tls: { ca_file: own.caFile } } }
  const client = await startClientAgent(t, cluster, trusting)
  t.same(await client.http.json('GET', '/v1/agent/servers'), [`127.0.0.1:${secure}`])
  await follows(t, cluster, client)
  const wary = { name: 'c3', config: { tls: { ca_file: other.caFile } } }
  const { http: asked } = await startClientAgent(t, cluster, wary)
  t.match(await asked.json('GET', '/v1/openapi.json'), { paths: { '/v1/kv/{path}': {} } })
  const refused = await asked.request('GET', '/v1/kv/c2/1')
  t.match(refused, { status: 500 })
  t.match(refused.body.toString(), /No known servers: 127[.]0[.]0[.]1:\d+: .*certificate/)
})

void t.test('tokens count at a client agent as they do at servers', async (t) => {
  const secret = 'a-secret-of-the-operator-0123456789abcdef'
  const acl = { enabled: true }
  const cluster = await startCluster(t, {
    gossip: true,
    config: { acl: { ...acl, bootstrap_token: secret } },
    writeFirst: false,
  })
  const server = cluster.http(await cluster.follower())
  const ask = async (
    http: HttpClient,
    token: string,
    method: string,
    path: string,
    body?: unknown,
  ) => {
    const reply = await http.request(method, path, {
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(token !== '' && { headers: { 'x-service-token': token } }),
    })
    return { status: reply.status, body: reply.body.toString(), headers: reply.headers }
  }
  const made = async (policy: string, rules: string) => {
    await eventuallyTrue('a policy', async () => {
      const { status } = await ask(server, secret, 'PUT', `/v1/acl/policy/${policy}`, {
        Rules: rules,
      })
      return status === 200
    })
    const token = await ask(server, secret, 'PUT', '/v1/acl/token', { Policies: [policy] })
    return JSON.parse(token.body) as { readonly AccessorID: string; readonly SecretID: string }
  }
  const agents = await made(
    'agents',
    'node "c1" { policy = "write" }\nservice_prefix "" { policy = "write" }',
  )
  const web = await made(
    'web',
    'service "web" { policy = "write" }\nnode_prefix "" { policy = "read" }',
  )
  const withToken = { config: { acl: { ...acl, agent_token: agents.SecretID } } }
  const { http, process } = await startClientAgent(t, cluster, withToken)
  const without = await startClientAgent(t, cluster, { name: 'c2', config: { acl } })

  const register = '/v1/agent/service/register'
  for (const [token, name, status] of [
    ['', 'web', 403],
    ['wrong', 'web', 403],
    [web.SecretID, 'db', 403],
    [web.SecretID, 'web', 200],
    [secret, 'db', 200],
  ] as const) {
    t.equal((await ask(http, token, 'PUT', register, { Name: name })).status, status, name)
  }
  await eventuallyTrue('both are in the catalog', async () => {
    const { body } = await ask(server, secret, 'GET', '/v1/catalog/services')
    return body.includes('"web"') && body.includes('"db"')
  })
  const seen = await ask(http, web.SecretID, 'GET', '/v1/agent/services')
  t.same(Object.keys(JSON.parse(seen.body) as object), ['web'])
  t.equal(seen.headers['x-service-results-filtered-by-acls'], 'true')
  t.same((await ask(http, '', 'GET', '/v1/agent/services')).body, '{}')
  t.equal((await ask(http, web.SecretID, 'GET', '/v1/kv/x')).status, 403, 'a server says so')
  t.equal((await ask(http, '', 'GET', '/v1/agent/self')).status, 403)
  t.notMatch((await ask(http, secret, 'GET', '/v1/agent/self')).body, agents.SecretID)

  t.equal((await ask(without.http, web.SecretID, 'PUT', register, { Name: 'web' })).status, 200)
  await eventuallyTrue('it says what is missing', async () =>
    (await without.process.logTail(200)).includes('acl.agent_token must be'),
  )

  await ask(server, secret, 'PUT', '/v1/acl/policy/anonymous', {
    Rules: 'service_prefix "" { policy = "read" }\nnode_prefix "" { policy = "read" }',
  })
  await eventuallyTrue('callers without a token see it', async () => {
    return (await ask(http, '', 'GET', '/v1/agent/services')).body.includes('web')
  })
  await ask(server, secret, 'DELETE', `/v1/acl/token/${web.AccessorID}`)
  await eventuallyTrue('a token that was revoked is none here either', async () => {
    return (await ask(http, web.SecretID, 'PUT', register, { Name: 'web' })).status === 403
  })
  for (const planted of [secret, web.SecretID]) {
    t.notOk((await process.logTail(10_000)).includes(planted), 'no log holds a secret')
  }
})

async function follows(t: Test, cluster: Cluster, client: ClientAgent): Promise<void> {
  const { name, ports } = client.process.spec
  const path = `/v1/event/stream?topic=KV:${name}/*`
  const [answer] = (await once(get({ port: ports.http, host: '127.0.0.1', path }), 'response')) as [
    IncomingMessage,
  ]
  let lines = ''
  answer.setEncoding('utf8').on('data', (text: string) => (lines += text))
  const websocket = new WebSocket(`ws://127.0.0.1:${ports.http}${path}`, {
    headers: {},
    perMessageDeflate: false,
    maxPayload: 1_048_576,
    handshakeTimeout: 10_000,
  })
  const messages: string[] = []
  websocket.on('message', (data: Buffer) => messages.push(data.toString()))
  t.teardown(() => {
    answer.destroy()
    websocket.terminate()
  })
  await once(websocket, 'open')
  for (let count = 0; count < 100; count += 1)
    await put(cluster.http(0), `/v1/kv/${name}/${count}`, 'x')
  await eventuallyTrue('all lines', () => lines.split('"Topic":"KV"').length === 101)
  await eventuallyTrue('all messages', () => messages.join('').split('"Topic":"KV"').length === 101)
  for (const message of messages) JSON.parse(message)
  t.match(await client.http.request('GET', '/v1/event/stream?topic=nope'), { status: 400 })
  // What it knows of a server that restarts would have others end what they follow there.
  await client.process.kill()
}
