/** The leader's word on nodes that are cut off: until when they may be, whoever leads, and the way back of one whose agent is heard. */
import t, { type Test } from 'tap'
import type { ClientReport } from '../../../src/domains/allocations/model.ts'
import { nodes } from '../../../src/domains/nodes/table.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { idOf, placedOn, served, type Workloads } from '../allocations/workloads.ts'
import { openAgent, type FakeAgent } from './agent.ts'
import { specOf } from './spec.ts'

const nodeId = '11111111-2222-4333-8444-555555555555'
const allocation = idOf('allo', 0)
const leastMs = 1_000

function nodeOf(here: Workloads) {
  return here.read((reader) => reader.get(nodes, [nodeId]))
}

function becomes(here: Workloads, status: string): Promise<void> {
  return eventuallyTrue(`the node is ${status}`, () =>
    Promise.resolve(nodeOf(here)?.status === status),
  )
}

async function registered(t: Test, port: number): Promise<FakeAgent> {
  const agent = await openAgent(t, port, { nodeId, name: 'box' })
  await agent.ask('nodes.register', { spec: specOf('box') })
  return agent
}

function report(agent: FakeAgent): Promise<unknown> {
  const told: ClientReport = {
    id: allocation,
    clientStatus: 'running',
    clientDescription: '',
    tasks: [],
    health: null,
  }
  return agent.ask('allocations.report', { reports: [told] })
}

/** A node that runs what may be cut off for so long, and whose agent is gone. */
async function gone(t: Test, windowMs: number) {
  const { server, here } = await served(t)
  const port = await server.listen()
  const agent = await registered(t, port)
  const nowMs = Date.now()
  const ready = [{ id: nodeId, status: 'ready', cause: 'heartbeat' }]
  await here.apply('nodes.status', { updates: ready, nowMs })
  const job = await here.plant('web', 'service', { MaxClientDisconnect: windowMs * 1e6 })
  await here.plan(job, { place: [placedOn(job, nodeId, 0)] })
  await report(agent)
  agent.uplink.close('cut off')
  await agent.closed
  const untilMs = Date.now() + windowMs
  const lost = [{ id: nodeId, status: 'disconnected', cause: 'heartbeat', untilMs }]
  await here.apply('nodes.status', { updates: lost, nowMs: Date.now() })
  return { server, here, port, job, untilMs }
}

void t.test('it is down when its time is over, and not before, whoever leads then', async (t) => {
  const { server, here, untilMs } = await gone(t, leastMs)
  for (let leader = 0; leader < 2; leader += 1) {
    await server.startDuty('nodes').stop()
  }
  const duty = server.startDuty('nodes')
  t.teardown(() => duty.stop())
  t.equal(nodeOf(here)?.status, 'disconnected')
  await becomes(here, 'down')
  t.ok(Date.now() >= untilMs)
  t.match(nodeOf(here)?.events.at(-1), { details: [['disconnected', 'too long']] })
})

void t.test('heard again, it takes new work once its agent told of its work', async (t) => {
  const { server, here, port, job } = await gone(t, 600_000)
  const duty = server.startDuty('nodes')
  t.teardown(() => duty.stop())
  await here.plan(job, { unknown: [allocation] })
  t.equal(here.allocation(allocation)?.clientStatus, 'unknown')

  const agent = await registered(t, port)
  t.equal(nodeOf(here)?.status, 'disconnected', 'a registration alone changes nothing')
  await agent.ask('nodes.heartbeat', {})
  await becomes(here, 'initializing')
  await agent.ask('nodes.heartbeat', {})
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  t.equal(nodeOf(here)?.status, 'initializing')
  await report(agent)
  await becomes(here, 'ready')
  t.equal(here.allocation(allocation)?.clientStatus, 'running')
  await eventually('the job is looked at', () => here.evaluationOf('reconnect'))
})

void t.test(
  'where its agent tells of its work first, the node is back before that counts',
  async (t) => {
    const { server, here, port, job } = await gone(t, 600_000)
    const duty = server.startDuty('nodes')
    t.teardown(() => duty.stop())
    await here.plan(job, { unknown: [allocation] })
    const agent = await registered(t, port)
    await report(agent)
    t.equal(here.allocation(allocation)?.clientStatus, 'running')
    t.equal(nodeOf(here)?.status, 'initializing')
  },
)
