/** Client nodes on one server: registration over a real uplink, states, what operators do, and what HTTP says of it. */
import t, { type Test } from 'tap'
import { computedClassOf } from '../../../src/domains/nodes/computed-class.ts'
import { updateStatus } from '../../../src/domains/nodes/commands.ts'
import { nodes } from '../../../src/domains/nodes/table.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { serverOfOne, type ServerOfOne, type ServerOfOneOptions } from '../server-of-one.ts'
import { openAgent, secretOf } from './agent.ts'
import { specOf } from './spec.ts'

const id = '11111111-2222-4333-8444-555555555555'
const other = '11aaaaaa-2222-4333-8444-555555555555'

type Shown = Readonly<Record<string, unknown>> & {
  readonly Events: readonly { readonly Message: string; readonly CreateIndex: number }[]
}

async function served(t: Test, options: ServerOfOneOptions = {}) {
  const server = await serverOfOne(t, { begin: false, ...options })
  for (const name of ['nodes', 'drains']) {
    const duty = server.startDuty(name)
    t.teardown(() => duty.stop())
  }
  return { server, port: await server.listen() }
}

async function registered(t: Test, port: number, nodeId = id, name = 'box') {
  const agent = await openAgent(t, port, { nodeId, name })
  await agent.ask('nodes.register', { spec: specOf(name) })
  return agent
}

async function read(server: ServerOfOne, nodeId = id): Promise<Shown> {
  return (await server.ask('GET', `/v1/node/${nodeId}`)).json() as Shown
}

async function ready(server: ServerOfOne, nodeId = id): Promise<void> {
  await eventuallyTrue('ready', async () => (await read(server, nodeId))['Status'] === 'ready')
}

const messages = (node: Shown) => node.Events.map(({ Message }) => Message)

t.test('registers, is ready at its first heartbeat, and is shown with all fields', async (t) => {
  const { server, port } = await served(t)
  const agent = await registered(t, port)
  t.match(await read(server), { Status: 'initializing', SchedulingEligibility: 'eligible' })
  t.match(await agent.ask('nodes.heartbeat', {}), { ttlMs: Number })
  await ready(server)
  const node = await read(server)
  t.match(node, {
    ID: id,
    Name: 'box',
    NodeClass: 'fast',
    Drain: false,
    DrainStrategy: null,
    LastDrain: null,
    SecretID: '',
    HostVolumes: { data: { Name: 'data', Path: '/srv/data', ReadOnly: true } },
    Meta: { rack: 'r1' },
    NodeResources: { Cpu: { CpuShares: 4_000 }, Memory: { MemoryMB: 2_048 } },
    ReservedResources: { Networks: { ReservedHostPorts: '22' } },
    Drivers: {},
    ComputedClass: computedClassOf(specOf('box')),
  })
  t.match(node.Events, [{ Message: 'Node registered', CreateIndex: 0 }])
  t.equal(JSON.stringify(node).includes(secretOf('s')), false)

  const before = node['ModifyIndex']
  await agent.ask('nodes.register', { spec: specOf('box') })
  t.equal((await read(server))['ModifyIndex'], before, 'the same again writes nothing')
  await agent.ask('nodes.register', { spec: specOf('box', { nodeClass: 'slow' }) })
  t.match(await read(server), { NodeClass: 'slow', Status: 'ready', Events: { length: 1 } })
})

t.test(
  'a restored record becomes what its agent says now, and no unchanged one is written',
  async (t) => {
    const server = await serverOfOne(t, { begin: false })
    const port = await server.listen()
    const duty = server.startDuty('nodes')
    t.teardown(() => duty.stop())
    const agent = await openAgent(t, port, { nodeId: id, name: 'box', spec: { nodeClass: 'slow' } })
    await agent.ask('nodes.register', { spec: specOf('box') })
    const same = await registered(t, port, other, 'same')
    const { bytes } = await server.ask('GET', '/v1/operator/snapshot')
    await agent.ask('nodes.register', { spec: specOf('box', { nodeClass: 'slow' }) })
    const { status, body } = await server.ask('PUT', '/v1/operator/snapshot', bytes)
    t.equal(status, 200, body)
    t.match(await read(server), { NodeClass: 'fast' })
    await same.ask('nodes.heartbeat', {})
    await agent.ask('nodes.heartbeat', {})
    await ready(server)
    await ready(server, other)
    await eventuallyTrue(
      'it is read anew',
      async () => (await read(server))['NodeClass'] === 'slow',
    )
    const node = server.machine.reader().get(nodes, [other])
    t.equal(node?.events.length, 1)
  },
)

t.test('the class is that of machines that are alike', (t) => {
  const box = computedClassOf(specOf('box'))
  t.equal(computedClassOf(specOf('other')), box, 'what is below unique. does not count')
  t.not(computedClassOf(specOf('box', { meta: [['rack', 'r2']] })), box)
  t.match(box, /^v1:\d+$/)
  t.end()
})

t.test('a node is known by its secret, and by nothing else', async (t) => {
  const { server, port } = await served(t)
  await registered(t, port)
  const thief = openAgent(t, port, { nodeId: id, name: 'box', secret: secretOf('x') })
  await t.rejects(thief, { code: 'permission_denied', message: /403.*another secret/ })
  t.equal(server.refused()['uplinks'], 1, 'counted')

  const liar = await openAgent(t, port, { nodeId: other, name: 'liar' })
  await t.rejects(liar.ask('nodes.register', { spec: specOf('box') }), { code: 'invalid_argument' })
  for (const method of ['nodes.purge', 'server.leave', 'nodes.heard', 'nothing']) {
    await t.rejects(liar.ask(method, { id }), /not for agents to ask|does not know/)
  }
  await t.rejects(liar.ask('nodes.register', { spec: { name: 'liar' } }), {
    code: 'invalid_argument',
  })
  t.equal((await server.ask('GET', `/v1/node/${other}`)).status, 404)
  const refused: [headers: Record<string, string>, status: number][] = [
    [{}, 400],
    [{ 'x-muster-node-id': 'x', 'x-muster-node-name': 'b', 'x-muster-node-secret': 's' }, 400],
    [
      {
        'x-muster-node-id': id,
        'x-muster-node-name': 'box',
        'x-muster-node-secret': secretOf('s'),
      },
      400,
    ],
  ]
  for (const [headers, status] of refused) {
    const url = '/v1/agent/uplink?version=1'
    t.equal((await server.ask('GET', url, undefined, undefined, headers)).status, status)
  }
  t.equal((await server.ask('GET', '/v1/agent/uplink?version=2')).status, 400)
})

t.test('what is refused to an agent is counted, and named in the log', async (t) => {
  const { server, port } = await served(t)
  const agent = await registered(t, port)
  const refused = () => server.refused()['uplinks'] ?? 0
  for (const [method, args] of [
    ['nodes.register', { spec: { name: 'box' } }],
    ['nodes.purge', { id }],
    ['nothing', {}],
  ] as const) {
    const before = refused()
    await t.rejects(agent.ask(method, args))
    t.equal(refused(), before + 1, method)
  }
})

t.test('an agent changes its node only so often', async (t) => {
  const { server, port } = await served(t)
  const agent = await registered(t, port)
  const change = (nodeClass: string) => {
    return agent.ask('nodes.register', { spec: specOf('box', { nodeClass }) })
  }
  for (let at = 0; at < 20; at += 1) await change(String(at))
  const applied = server.machine.appliedIndex
  await t.rejects(change('more'), { code: 'rate_limited', message: /once in 2 s/ })
  const drain = { deadlineNs: 0, ignoreSystemJobs: false }
  await t.rejects(agent.ask('nodes.drainSelf', { spec: drain }), { code: 'rate_limited' })
  t.equal(server.machine.appliedIndex, applied, 'what is refused is no entry')
  await change('19')
  await registered(t, port, other, 'other')
  t.equal((await server.ask('GET', `/v1/node/${other}`)).status, 200, 'others register')
})

t.test('what an agent answers is looked at before it is shown', async (t) => {
  const { server, port } = await served(t)
  const data = { OS: 'Linux', Network: [], ResolvConf: '', Hosts: '', Environment: {}, Disk: {} }
  let answer: unknown = { agentId: 'box', data }
  const agent = await openAgent(t, port, { nodeId: id, name: 'box' }, () => answer)
  await agent.ask('nodes.register', { spec: specOf('box') })
  const host = () => server.ask('GET', `/v1/agent/host?node_id=${id}`)
  t.match((await host()).json(), { AgentID: 'box', HostData: data })
  for (const wrong of [null, 'x', [], { agentId: 'box' }, { agentId: 1, data }]) {
    answer = wrong
    const { status, body } = await host()
    t.equal(status, 500)
    t.match(body, /^the agent's answer to agent\.host: /)
  }
  // A browser would take it for a page of the server's.
  answer = { type: 'text/html', bytes: Buffer.from('<script>') }
  t.match((await server.ask('GET', `/v1/agent/pprof/heap?node_id=${id}`)).status, 500)
  answer = { timeMs: Infinity }
  t.equal((await server.ask('GET', `/v1/client/stats?node_id=${id}`)).status, 500)
})

t.test('two agents that take the uplink of one node from each other are named', async (t) => {
  const { server, port } = await served(t)
  for (let at = 0; at < 4; at += 1) await registered(t, port)
  t.equal(server.refused()['uplinks'], 0, 'an agent may come back a few times')
  await registered(t, port)
  t.equal(server.refused()['uplinks'], 1)
})

t.test('only one uplink counts for a node, and the newest is that', async (t) => {
  const { server, port } = await served(t)
  const first = await registered(t, port)
  const second = await registered(t, port)
  t.match(await first.closed, /another uplink/)
  await second.ask('nodes.heartbeat', {})
  await ready(server)
})

t.test(
  'a node that is said to be down and answers is ready again; a purged one registers',
  async (t) => {
    const { server, port } = await served(t)
    const agent = await registered(t, port)
    await agent.ask('nodes.heartbeat', {})
    await ready(server)
    const updates = [{ id, status: 'down', cause: 'heartbeat' }]
    await server.propose({ type: updateStatus.type, args: { updates, nowMs: 5 } })
    await ready(server)
    t.same(messages(await read(server)), [
      'Node registered',
      'Node heartbeat missed',
      'Node reregistered by heartbeat',
    ])
    const created = (await read(server))['CreateIndex']
    const purged = (await server.ask('PUT', `/v1/node/${id}/purge`)).json()
    t.match(purged, { EvalIDs: null, EvalCreateIndex: 0, NumNodes: 0, KnownLeader: true })
    await eventually('it registers again', async () => {
      const node = await read(server)
      return node['CreateIndex'] === created ? undefined : node
    })
    t.same(messages(await read(server)), ['Node registered'])
  },
)

t.test('eligibility and drains follow their rules', async (t) => {
  const { server, port } = await served(t)
  await registered(t, port)
  const set = (word: string) =>
    server.ask('PUT', `/v1/node/${id}/eligibility`, { Eligibility: word })
  const first = (await set('ineligible')).json() as { NodeModifyIndex: number }
  t.ok(first.NodeModifyIndex > 0)
  t.match((await set('ineligible')).json(), { NodeModifyIndex: 0, EvalIDs: null })
  t.equal((await set('maybe')).status, 400)
  t.equal((await set('eligible')).status, 200)

  const drain = (body: unknown) => server.ask('POST', `/v1/node/${id}/drain`, body)
  t.equal((await drain({ DrainSpec: {} })).status, 400, 'Deadline is required')
  t.equal((await drain({ DrainSpec: { Deadline: '1h' } })).status, 400)
  const { Index } = (await drain({ DrainSpec: { Deadline: 0 }, Meta: { why: 'disk' } })).json() as {
    Index: number
  }
  const over = (await server.ask('GET', `/v1/node/${id}?index=${Index}&wait=10s`)).json()
  t.match(over, {
    Drain: false,
    DrainStrategy: null,
    SchedulingEligibility: 'ineligible',
    LastDrain: { Status: 'complete', AccessorID: '', Meta: { why: 'disk' } },
  })
  t.match((await drain({})).json(), { NodeModifyIndex: 0 }, 'nothing is to be stopped')
  t.ok(
    ((await drain({ MarkEligible: true })).json() as { NodeModifyIndex: number }).NodeModifyIndex,
  )
  t.same(messages(await read(server)), [
    'Node registered',
    'Node marked as ineligible for scheduling',
    'Node marked as eligible for scheduling',
    'Node drain strategy set',
    'Node drain complete',
    'Node marked as eligible for scheduling',
  ])
  for (let n = 0; n < 6; n += 1) await set(n % 2 === 0 ? 'ineligible' : 'eligible')
  t.equal((await read(server)).Events.length, 10, 'the last ten')
})

t.test('a drain is set, replaced and stopped while no leader ends it', async (t) => {
  const server = await serverOfOne(t, { begin: false })
  const heartbeatsOnly = await server.listen()
  const agent = await openAgent(t, heartbeatsOnly, { nodeId: id, name: 'box' })
  await agent.ask('nodes.register', { spec: specOf('box') })
  const drain = (body: unknown) => server.ask('PUT', `/v1/node/${id}/drain`, body)
  await drain({ DrainSpec: { Deadline: 3_600_000_000_000, IgnoreSystemJobs: true } })
  const first = await read(server)
  t.match(first, {
    Drain: true,
    DrainStrategy: { Deadline: 3_600_000_000_000, IgnoreSystemJobs: true },
    LastDrain: { Status: 'draining' },
  })
  await drain({ DrainSpec: { Deadline: 0 } })
  const strategy = (await read(server))['DrainStrategy'] as Record<string, unknown>
  t.match(strategy, { ForceDeadline: '0001-01-01T00:00:00Z' })
  t.equal(strategy['StartedAt'], (first['DrainStrategy'] as Record<string, unknown>)['StartedAt'])
  const longest = { DrainStrategy: { Deadline: Number.MAX_SAFE_INTEGER } }
  t.equal((await drain({ DrainSpec: { Deadline: Number.MAX_SAFE_INTEGER } })).status, 200)
  t.match(await read(server), longest)
  for (const Deadline of [1.5, 1e19, '1h']) {
    const { status, body } = await drain({ DrainSpec: { Deadline } })
    t.equal(status, 400)
    t.match(body, 'DrainSpec.Deadline must be a whole number of 64 bits')
  }
  for (const Deadline of [2 ** 53, 31_536_000_000_000_000, 2 ** 63 - 1024]) {
    const { status, body } = await drain({ DrainSpec: { Deadline } })
    t.equal(status, 400, 'a longer one would be kept as another')
    t.match(body, 'DrainSpec.Deadline must be at most 9007199254740991 nanoseconds')
  }
  const eligible = { Eligibility: 'eligible' }
  t.equal((await server.ask('PUT', `/v1/node/${id}/eligibility`, eligible)).status, 409)
  await drain({ DrainSpec: null })
  t.match(await read(server), {
    Drain: false,
    SchedulingEligibility: 'ineligible',
    LastDrain: { Status: 'canceled' },
  })
  t.same(messages(await read(server)).slice(1), [
    'Node drain strategy set',
    'Node drain strategy updated',
    'Node drain strategy updated',
    'Node drain disabled',
  ])
  await drain({ DrainSpec: { Deadline: -(2 ** 63) } })
  const duty = server.startDuty('drains')
  t.teardown(() => duty.stop())
  await eventuallyTrue('a new leader ends it', async () => (await read(server))['Drain'] === false)
})

t.test('lists follow the rules of prefixes, filters and pages', async (t) => {
  const { server, port } = await served(t)
  await registered(t, port)
  await registered(t, port, other, 'other')
  const names = async (query: string) => {
    const answer = await server.ask('GET', `/v1/nodes?${query}`)
    if (answer.status !== 200) return answer.status
    return (answer.json() as { Name: string }[]).map(({ Name }) => Name)
  }
  t.same(await names(''), ['box', 'other'])
  t.same(await names('prefix=11'), ['box', 'other'])
  t.same(await names('prefix=11aa'), ['other'])
  t.same(await names('prefix=11111111-22'), ['box'])
  t.same(await names('prefix=22'), [])
  t.same(await names('prefix=111'), 400, 'an odd number')
  t.same(await names('prefix=zz'), 400)
  t.same(await names('filter=Name%20%3D%3D%20other'), ['other'])
  const fitting = (filter: string) => names(`filter=${encodeURIComponent(filter)}`)
  t.same(await fitting('LastDrain.Status == draining'), [])
  await server.ask('PUT', `/v1/node/${id}/drain`, { DrainSpec: { Deadline: 0 } })
  // That of an empty node is over within moments.
  t.same(await fitting('LastDrain.Status is not empty and LastDrain.Meta is empty'), ['box'])
  t.same(await fitting('Attributes["cpu.arch"] is not nil'), ['box', 'other'])
  t.same(await fitting('Meta.rack == r1'), ['box', 'other'])
  t.same(await fitting('Meta.rack == r9 or Attributes["os.name"] == none'), [])
  t.same(await fitting('Drivers.raw_exec.Attributes is nil'), ['box', 'other'])
  const whole = (await server.ask('GET', `/v1/node/${id}`)).json() as Shown
  const { NodeResources, ReservedResources } = whole
  const stubs = async (query: string) =>
    (await server.ask('GET', `/v1/nodes?prefix=${id}&${query}`)).json() as readonly Shown[]
  const [plain, full] = [await stubs(''), await stubs('resources=true&os=true')]
  const more = { NodeResources, ReservedResources, Attributes: { 'os.name': '' } }
  t.strictSame(full, [{ ...plain[0], ...more }])
  const page = await server.ask('GET', '/v1/nodes?per_page=1')
  t.match(page.json(), [{ Name: 'box', Address: '10.0.0.7', Version: '0.1.0' }])
  const token = String(page.headers['x-service-nexttoken'])
  t.same(await names(`per_page=1&next_token=${token}`), ['other'])
  t.equal((await server.ask('GET', '/v1/node/1111')).status, 400, 'a short id')
  t.equal((await server.ask('GET', `/v1/node/${id.toUpperCase()}`)).status, 200)
  t.match((await server.ask('PUT', `/v1/node/${id}/evaluate`)).json(), { EvalIDs: null })
  const pools = await server.ask('GET', '/v1/node/pools')
  t.match(pools, { status: 501, body: /node pools are not served/ })
  t.equal((await server.ask('PUT', '/v1/node/x/purge')).status, 400)
  const unknown = '99999999-2222-4333-8444-555555555555'
  t.equal((await server.ask('PUT', `/v1/node/${unknown}/purge`)).status, 404)
  t.equal((await server.ask('PUT', `/v1/node/${unknown}/drain`, {})).status, 404)
})

t.test('tokens see and change nodes by their names', async (t) => {
  const { server, port } = await served(t, { acl: { enabled: true } })
  const root = ((await server.ask('PUT', '/v1/acl/bootstrap')).json() as { SecretID: string })
    .SecretID
  const tokenWith = async (name: string, rules: string) => {
    await server.ask('PUT', `/v1/acl/policy/${name}`, { Rules: rules }, root)
    const made = await server.ask('PUT', '/v1/acl/token', { Policies: [name] }, root)
    return (made.json() as { SecretID: string }).SecretID
  }
  const box = await tokenWith('box', 'node "box" { policy = "write" }')
  const reads = await tokenWith('reads', 'node_prefix "" { policy = "read" }')
  await t.rejects(openAgent(t, port, { nodeId: id, name: 'box' }), { code: 'permission_denied' })
  await t.rejects(openAgent(t, port, { nodeId: id, name: 'other', token: box }), {
    code: 'permission_denied',
  })
  const agent = await openAgent(t, port, { nodeId: id, name: 'box', token: box })
  await agent.ask('nodes.register', { spec: specOf('box') })
  const second = await openAgent(t, port, { nodeId: other, name: 'other', token: root })
  await second.ask('nodes.register', { spec: specOf('other') })
  const as = (token: string) => async (method: string, url: string, body?: unknown) =>
    server.ask(method, url, body, token)
  t.match((await as(box)('GET', '/v1/nodes')).json(), [{ Name: 'box' }])
  t.match((await as(reads)('GET', '/v1/nodes')).json(), { length: 2 })
  const without = 'Permission denied: the request has no token, and anonymous requests lack'
  for (const url of ['/v1/nodes', '/v1/nodes?index=1&wait=1s']) {
    const refused = await server.ask('GET', url)
    t.equal(refused.status, 403, url)
    t.match(refused.body, `${without} permission 'node:read'`)
  }
  t.equal((await as(box)('GET', `/v1/node/${other}`)).status, 403)
  t.equal((await as(box)('GET', `/v1/node/${id}`)).status, 200)
  const word = { Eligibility: 'ineligible' }
  t.equal((await as(reads)('PUT', `/v1/node/${id}/eligibility`, word)).status, 403)
  t.equal((await as(box)('PUT', `/v1/node/${other}/purge`)).status, 403)
  t.equal((await as(box)('PUT', `/v1/node/${id}/eligibility`, word)).status, 200)
})
