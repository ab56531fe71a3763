/** Agents over real uplinks: what they are told of their allocations, and what they report. */
import t, { type Test } from 'tap'
import type { Feed, ReadReply, ReportReply } from '../../../src/domains/allocations/feed-model.ts'
import { Assigned } from '../../../src/domains/allocations/feed-model.ts'
import { allocationFeeds } from '../../../src/domains/allocations/services.ts'
import { Validator } from '../../../src/fsm/validator.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { openAgent } from '../nodes/agent.ts'
import { specOf } from '../nodes/spec.ts'
import { idOf, placedOn, served, type Workloads } from './workloads.ts'

const [first, second] = [idOf('allo', 0), idOf('allo', 1)]
const none = { index: 0, tag: '', waitMs: 0 }

async function registered(t: Test, port: number, number: number) {
  const nodeId = idOf('node', number)
  const agent = await openAgent(t, port, { nodeId, name: `box${number}` })
  await agent.ask('nodes.register', { spec: specOf(`box${number}`) })
  return {
    nodeId,
    feed: async (args: object) =>
      (await agent.ask('allocations.feed', { ...none, ...args })) as Feed,
    read: async (...ids: readonly string[]) =>
      (await agent.ask('allocations.read', { ids })) as ReadReply,
    report: async (...reports: readonly object[]) =>
      (await agent.ask('allocations.report', { reports })) as ReportReply,
    ask: (method: string, args: object) => agent.ask(method, args),
  }
}

const running = (id: string) => ({
  id,
  clientStatus: 'running',
  clientDescription: '',
  tasks: [],
  health: null,
})

async function twoNodes(t: Test) {
  const { server, here } = await served(t)
  const port = await server.listen()
  const [one, other] = [await registered(t, port, 1), await registered(t, port, 2)]
  for (const { nodeId } of [one, other]) await here.status(nodeId, 'ready')
  return { server, here, one, other }
}

async function placed(here: Workloads, nodeId: string, ...numbers: readonly number[]) {
  const job = await here.plant()
  await here.plan(job, { place: numbers.map((number) => placedOn(job, nodeId, number)) })
  return job
}

void t.test('an agent waits for its allocations, and for those of its node alone', async (t) => {
  const { server, here, one, other } = await twoNodes(t)
  const empty = await one.feed({})
  t.match(empty, { allocations: [], index: here.machine.appliedIndex })
  const waits = one.feed({ ...empty, waitMs: 4_000 })
  const feeds = server.services.get(allocationFeeds)
  await eventuallyTrue('it waits', () => feeds.waitingCount === 1)
  const job = await placed(here, other.nodeId, 1)
  await here.plan(job, { place: [placedOn(job, one.nodeId, 0)] })
  const feed = await waits
  t.strictSame(feed.allocations, [[first, here.machine.appliedIndex]])
  t.match(await one.feed({ ...feed, waitMs: 1 }), { tag: feed.tag })
})

void t.test(
  'an agent that asks again waits without a look, and is told of the next change',
  async (t) => {
    const { server, here, one } = await twoNodes(t)
    const empty = await one.feed({})
    const feeds = server.services.get(allocationFeeds)
    const before = feeds.readCount
    const waits = one.feed({ ...empty, waitMs: 30_000 })
    await eventuallyTrue('it waits', () => feeds.waitingCount === 1)
    t.equal(feeds.readCount, before)
    const job = await placed(here, one.nodeId, 0)
    const feed = await waits
    t.equal(feed.allocations.length, 1)
    // What is placed while nobody waits is seen at once by who asks then.
    await here.plan(job, { place: [placedOn(job, one.nodeId, 1)] })
    t.equal((await one.feed({ ...feed, waitMs: 30_000 })).allocations.length, 2)
  },
)

void t.test(
  'a call that waits is answered when the agent asks again, and when the server stops',
  async (t) => {
    const { server, one } = await twoNodes(t)
    const { index, tag } = await one.feed({})
    const waits = one.feed({ index, tag, waitMs: 30_000 })
    const feeds = server.services.get(allocationFeeds)
    await eventuallyTrue('it waits', () => feeds.waitingCount === 1)
    await one.feed({ index, tag, waitMs: 0 })
    t.match(await waits, { tag })
    await eventuallyTrue('nothing is left', () => feeds.waitingCount === 0)
  },
)

void t.test('an agent is told which job started the one of an allocation', async (t) => {
  const { here, one } = await twoNodes(t)
  const parent = { id: 'web', createIndex: 1, dispatched: true, token: '' }
  const alone = await here.plant()
  const started = await here.plant('web/dispatch-1', 'batch', {}, parent)
  await here.plan(alone, { place: [placedOn(alone, one.nodeId, 0)] })
  await here.plan(started, { place: [placedOn(started, one.nodeId, 1)] })
  const { allocations } = await one.read(first, second)
  t.strictSame(
    allocations.map(({ parentId }) => parentId),
    [undefined, 'web'],
  )
})

void t.test('records are whole, and only those of the agent', async (t) => {
  const { here, one, other } = await twoNodes(t)
  await placed(here, one.nodeId, 0)
  const { allocations, rest } = await one.read(first, second)
  t.strictSame(rest, [])
  t.match(allocations, [
    { id: first, jobName: 'web', jobType: 'service', datacenter: 'dc1', group: { Name: 'g' } },
  ])
  t.equal(new Validator(Assigned).accepts(allocations[0]), true)
  t.match(await other.read(first), { allocations: [] })
})

void t.test('what an agent reports is in the state when it is answered', async (t) => {
  const { here, one } = await twoNodes(t)
  await placed(here, one.nodeId, 0, 1)
  t.match(await one.report(running(first), running(second)), { unknown: [] })
  t.equal(here.allocation(second)?.clientStatus, 'running')
  const index = here.machine.appliedIndex
  await one.report(running(first))
  t.equal(here.machine.appliedIndex, index, 'the same again is no entry')
  await one.report({ ...running(first), clientStatus: 'complete' })
  t.strictSame(
    (await one.feed({})).allocations.map(([id]) => id),
    [second],
  )
})

void t.test('another node cannot speak for it', async (t) => {
  const { here, one, other } = await twoNodes(t)
  await placed(here, one.nodeId, 0)
  const [foreign, own] = await Promise.all([
    other.report({ ...running(first), clientStatus: 'failed' }, running(second)),
    one.report(running(first)),
  ])
  t.strictSame(foreign.unknown, [first, second])
  t.strictSame(own.unknown, [], 'the node itself is not told that it is gone')
  t.equal(here.allocation(first)?.clientStatus, 'running')
})

void t.test('reports that are too large or too many are refused', async (t) => {
  const { here, one } = await twoNodes(t)
  await placed(here, one.nodeId, 0)
  const event = {
    type: 'x',
    timeNs: '1',
    message: 'm'.repeat(1_024),
    displayMessage: '',
    details: [],
  }
  const state = { state: 'dead', failed: false, restarts: 0, startedMs: null, finishedMs: null }
  const task = { ...state, lastRestartMs: null, events: Array.from({ length: 10 }, () => event) }
  const tasks = Array.from({ length: 10 }, (_, at) => ({ ...task, task: `t${at}` }))
  await t.rejects(one.report({ ...running(first), tasks }), { code: 'invalid_argument' })
  await t.rejects(one.report({ ...running(first), clientStatus: 'lost' }), {
    code: 'invalid_argument',
  })

  const flood = Array.from({ length: 256 }, (_, at) => running(idOf('none', at)))
  const reportUntilRefused = async () => {
    for (let call = 0; call < 64; call += 1) await one.report(...flood)
  }
  await t.rejects(reportUntilRefused(), { code: 'rate_limited' })
  t.equal(here.allocation(first)?.clientStatus, 'pending')
})

const timed = (more: object) => ({
  task: 'main',
  state: 'running',
  failed: false,
  restarts: 0,
  startedMs: null,
  finishedMs: null,
  lastRestartMs: null,
  events: [],
  ...more,
})

void t.test('a long report counts as several', async (t) => {
  const { here, one } = await twoNodes(t)
  await placed(here, one.nodeId, 0)
  const text = 'm'.repeat(1_000)
  const event = { type: 'x', timeNs: '1', message: text, displayMessage: text, details: [] }
  const tasks = [timed({ events: Array.from({ length: 10 }, () => event) })]
  const long = Array.from({ length: 12 }, (_, at) => ({ ...running(idOf('none', at)), tasks }))
  const reportUntilRefused = async () => {
    for (let call = 0; call < 200; call += 1) await one.report(...long)
  }
  await t.rejects(reportUntilRefused(), { code: 'rate_limited' })
})

void t.test('times that clients cannot read as nanoseconds are refused', async (t) => {
  const { here, one } = await twoNodes(t)
  await placed(here, one.nodeId, 0)
  const event = { type: 'x', timeNs: '1', message: '', displayMessage: '', details: [] }
  const report = (task: object, more: object = {}) => {
    return one.report({ ...running(first), tasks: [timed(task)], ...more })
  }
  const beyondMs = 9_223_372_036_855
  for (const told of [
    report({ events: [{ ...event, timeNs: '9'.repeat(19) }] }),
    report({ startedMs: beyondMs }),
    report({}, { health: { healthy: true, timeMs: beyondMs } }),
  ]) {
    await t.rejects(told, { code: 'invalid_argument' })
  }
  await report({ startedMs: beyondMs - 1, events: [{ ...event, timeNs: `9${'1'.repeat(18)}` }] })
  t.equal(here.allocation(first)?.clientStatus, 'running')
})

void t.test('agents alone may ask this', async (t) => {
  const { one } = await twoNodes(t)
  await t.rejects(one.ask('allocations.reports', { reports: [] }), { code: 'permission_denied' })
})
