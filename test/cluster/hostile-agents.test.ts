/**
 * Client agents that lie, beside real servers and a good agent: each has a good secret of its own node, and says over its uplink what
 * it likes. What it says is refused and bounded, the log names it, and nobody else is the worse for it.
 */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import { encodeCalls, encodeValue } from '../../src/rpc/link-codec.ts'
import { pieceBytesMax } from '../../src/rpc/uplink-channels.ts'
import { specOf } from '../domains/nodes/spec.ts'
import { seed } from '../support/randomness.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { integer, mutated, noise, pick } from '../support/fuzz.ts'
import { callsChannel, HostileAgent, kind, message } from '../support/hostile-agent.ts'
import {
  isNamed,
  isRefused,
  isTaken,
  isWell,
  jobOf,
  member,
  mockTask,
  placed,
  portOf,
  register,
  stranger,
  world,
} from '../support/hostile-world.ts'

t.setTimeout(300_000)
t.comment(`FUZZ_SEED=${seed}`)
t.teardown(() => t.comment(`FUZZ_SEED=${seed}`))

const mib = 1024 * 1024

const here = await world(t)

await t.test('the uplink of another node', async (t) => {
  const stolen = HostileAgent.open(portOf(here), { nodeId: here.good, name: 'good' })
  await t.rejects(stolen, { code: 'permission_denied', message: /known by another secret/ })
  await eventuallyTrue('the log names it', async () =>
    (await here.cluster.logs(500)).includes(`good (${here.good}) at 127.0.0.1`),
  )
  const agent = await stranger(t, here)
  const spec = specOf('good')
  isRefused(t, await agent.ask('nodes.register', { spec }), 'invalid_argument', 'another name')
  await isNamed(here, agent, /the uplink is of node/)
  await isWell(t, here, 'the uplink of another')
})

await t.test('calls that are not for agents', async (t) => {
  const agent = await member(t, here)
  const { good, goodAllocation } = here
  const report = { id: goodAllocation, clientStatus: 'failed', clientDescription: '', tasks: [] }
  const reports = [{ node: good, report: { ...report, health: null } }]
  const forOthers: [method: string, args: object][] = [
    ['allocations.reports', { reports }],
    ['nodes.registered', { id: good, spec: specOf('good'), secretHash: '0'.repeat(64) }],
    ['nodes.heard', { ids: [good] }],
    ['nodes.purge', { id: good }],
    ['jobs.stop', { namespace: 'default', id: 'good', purge: true }],
    ['kv.write', {}],
    ['server.join', {}],
    ['agent.host', {}],
  ]
  for (const [method, args] of forOthers) {
    const more = { token: 'any', node: good, remote: '127.0.0.1' }
    const answer = await agent.ask(method, args, more)
    t.ok('code' in answer && ['permission_denied', 'not_found'].includes(answer.code), method)
  }
  await isNamed(here, agent, /is not for agents to ask/)
  // Whatever ids it adds: an uplink speaks for its own node.
  const leaves = { spec: { deadlineNs: -1, ignoreSystemJobs: false } }
  isTaken(t, await agent.ask('nodes.heartbeat', { id: good, nodeId: good }), 'heard as itself')
  await agent.ask('nodes.drainSelf', { ...leaves, id: good, nodeId: good })
  await isWell(t, here, 'calls for others')
})

await t.test('reports on what is not its own', async (t) => {
  const agent = await member(t, here)
  const { goodAllocation } = here
  const report = { clientStatus: 'failed', clientDescription: '', tasks: [], health: null }
  const one = { id: goodAllocation, ...report }
  isTaken(t, await agent.ask('allocations.report', { reports: [one] }), 'it is told: unknown')
  await isNamed(here, agent, /is of another node/)
  const read = await agent.ask('allocations.read', { ids: [goodAllocation] })
  t.notMatch(read, { value: Buffer.from(goodAllocation) }, 'nor is it told of it')

  // As many as it can, of allocations that nobody has: another node's reports come through meanwhile.
  const flood = Array.from({ length: 200 }, () => {
    const reports = Array.from({ length: 256 }, () => ({ ...report, id: randomUUID() }))
    return agent.ask('allocations.report', { reports })
  })
  await register(here.cluster, jobOf('meanwhile', here.good, here.watch.task()))
  await placed(here.cluster, 'meanwhile', 'running')
  const codes = (await Promise.all(flood)).flatMap((one) => ('code' in one ? [one.code] : []))
  t.ok(codes.length > 100, `${codes.length} of 200 calls are refused`)
  await isWell(t, here, 'reports')
})

await t.test('what it tells of itself has bounds', async (t) => {
  const agent = await member(t, here)
  const { name } = agent.node
  const meta = (count: number, length: number): [string, string][] =>
    Array.from({ length: count }, (_, at) => [`k${at}`, 'v'.repeat(length)])
  const tooMuch = { spec: specOf(name, { meta: meta(450, 2_000) }) }
  isRefused(t, await agent.ask('nodes.register', tooMuch), 'invalid_argument', '900 KB of metadata')
  await isNamed(here, agent, /must take at most 65536 characters/)
  // Each would be an entry of the log, with an evaluation for each job that runs there.
  const changes = await Promise.all(
    Array.from({ length: 60 }, (_, at) =>
      agent.ask('nodes.register', { spec: specOf(name, { meta: [['at', String(at)]] }) }),
    ),
  )
  const refused = changes.filter((one) => 'code' in one)
  t.ok(refused.length >= 30, `${refused.length} of 60 changes are refused`)
  const huge = await stranger(t, here)
  huge.ask('nodes.register', { spec: specOf('x', { meta: meta(600, 2_000) }) }).catch(() => {})
  t.match(await huge.closed, /./, 'a megabyte of metadata ends the uplink')
  await isWell(t, here, 'metadata')
})

await t.test('states of tasks that are too large, and none that clients cannot read', async (t) => {
  const agent = await member(t, here)
  await register(here.cluster, jobOf('giant', agent.node.nodeId, mockTask))
  const id = await placed(here.cluster, 'giant', 'pending')
  const event = { type: 'Started', timeNs: '1', message: '', displayMessage: '', details: [] }
  const state = { task: 'main', state: 'running', failed: false, restarts: 0 }
  const times = { startedMs: 1, finishedMs: null, lastRestartMs: null }
  const report = (events: object[], more: object = {}) => ({
    reports: [
      {
        id,
        clientStatus: 'running',
        clientDescription: '',
        tasks: [{ ...state, ...times, events, ...more }],
        health: null,
      },
    ],
  })
  const long = { ...event, details: Array.from({ length: 16 }, () => ['k', 'x'.repeat(1_000)]) }
  const refused: [what: string, args: object][] = [
    ['more than a row holds', report(Array.from({ length: 10 }, () => long))],
    ['a time beyond 64 bits', report([{ ...event, timeNs: '9'.repeat(19) }])],
    ['a start in the year 20000', report([event], { startedMs: 568_971_820_800_000 })],
    ['eleven events', report(Array.from({ length: 11 }, () => event))],
    [
      'two hundred tasks',
      { reports: [{ ...report([]).reports[0], tasks: Array.from({ length: 200 }, () => state) }] },
    ],
    ['no list', { reports: { length: 2 ** 31 } }],
    ['a state of no kind', report([event], { state: '__proto__' })],
  ]
  for (const [what, args] of refused) {
    isRefused(t, await agent.ask('allocations.report', args), 'invalid_argument', what)
  }
  await isNamed(here, agent, /what the agent says is not taken/)
  // As large as they may be, again and again, each another one.
  const largest = Array.from({ length: 600 }, (_, at) => {
    const wide = { ...event, message: '\u{1F600}'.repeat(500), displayMessage: String(at) }
    return agent.ask('allocations.report', report(Array.from({ length: 10 }, () => wide)))
  })
  const answers = await Promise.all(largest)
  t.ok(
    answers.some((one) => 'value' in one),
    'some are taken',
  )
  t.equal((await here.cluster.http(0).request('GET', `/v1/allocation/${id}`)).status, 200)
  await isWell(t, here, 'giant states')
})

await t.test('messages that cannot be true', async (t) => {
  const good = encodeCalls({
    requests: [
      {
        id: 1,
        method: 'nodes.heartbeat',
        args: encodeValue({}),
        remote: '',
        requestId: '',
        timeoutMs: 1_000,
      },
    ],
  })
  const attacks: [what: string, act: (agent: HostileAgent) => void, reason: RegExp][] = [
    ['an empty message', (agent) => agent.sendBytes(Buffer.alloc(0)), /has 0 bytes/],
    ['a channel of nobody', (agent) => agent.send(message.frame, 77, good), /nobody opened/],
    ['an answer on no channel', (agent) => agent.send(message.frame, 2, good), /nobody opened/],
    ['an unknown type', (agent) => agent.send(9, callsChannel), /unknown type 9/],
    ['calls opened twice', (agent) => agent.send(message.open, 3, kind.calls), /one channel of/],
    [
      'a frame without end',
      (agent) => {
        for (let n = 0; n < 6; n += 1) {
          agent.send(message.piece, callsChannel, Buffer.alloc(pieceBytesMax))
        }
      },
      /takes over 1048576 bytes/,
    ],
    [
      'many streams',
      (agent) => {
        for (let at = 3; at < 40; at += 2) agent.send(message.open, at, kind.stream)
      },
      /channels are open|streams at a time/,
    ],
    [
      'a flood',
      (agent) => {
        for (let n = 0; n < 3_000; n += 1) agent.send(message.frame, callsChannel, good)
      },
      /over 128 messages a second/,
    ],
  ]
  for (const [at, [what, act, reason]] of attacks.entries()) {
    const agent = await stranger(t, here, at % here.cluster.size)
    act(agent)
    t.match(await agent.closed, reason, what)
    await isNamed(here, agent, reason)
  }
  const large = await stranger(t, here)
  large.send(message.frame, callsChannel, Buffer.alloc(2 * mib))
  t.ok(await large.closed, 'a message beyond the bound of the connection')
  for (let round = 0; round < 40; round += 1) {
    const agent = await stranger(t, here, round % here.cluster.size)
    for (let n = integer(1, 60); n > 0; n -= 1) {
      const channel = pick([0, 1, 2, 3, 4, 2 ** 32 - 1])
      agent.send(pick([1, 2, 3, 4, 5]), channel, pick([mutated(good), noise(200), good]))
    }
    agent.close()
  }
  await isWell(t, here, 'messages')
})

await t.test('two uplinks of one node', async (t) => {
  const first = await member(t, here)
  const again: HostileAgent[] = []
  for (let n = 0; n < 30; n += 1) {
    again.push(await HostileAgent.open(portOf(here), first.node))
    again.at(-1)?.openCalls()
  }
  t.match(await first.closed, /opened another uplink/)
  await isNamed(here, first, /its uplinks replace each other/)
  const last = again.pop()
  for (const replaced of again) t.match(await replaced.closed, /opened another uplink/)
  t.equal(last?.isOpen, true, 'the newest alone stands')
  last?.close()
  await isWell(t, here, 'two uplinks')
})
