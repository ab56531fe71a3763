/** Drains on one server without a scheduler: the test plays the scheduler and the agents. */
import t, { type Test } from 'tap'
import { healthRulesOf } from '../../../src/client-agent/runner/health.ts'
import { assignedTo } from '../../../src/domains/allocations/assigned-queries.ts'
import type { JobRow } from '../../../src/domains/jobs/table.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import {
  idOf,
  nowMs,
  placedOn,
  served,
  type Placed,
  type Workloads,
} from '../allocations/workloads.ts'

type Node = {
  readonly Drain: boolean
  readonly Events: readonly { readonly Message: string; readonly Details: unknown }[]
}

async function draining(t: Test) {
  const { server, here } = await served(t)
  const duty = server.startDuty('drains')
  t.teardown(() => duty.stop())
  const node = await here.node(1)
  const elsewhere = await here.node(2)
  const read = async () => (await server.ask('GET', `/v1/node/${node}`)).json() as Node
  return {
    server,
    here,
    node,
    elsewhere,
    read,
    drain: async (deadlineNs: number, ignoreSystemJobs = false) => {
      const DrainSpec = { Deadline: deadlineNs, IgnoreSystemJobs: ignoreSystemJobs }
      const answer = await server.ask('PUT', `/v1/node/${node}/drain`, { DrainSpec })
      t.equal(answer.status, 200, answer.body)
    },
    isOver: () => eventuallyTrue('the drain is over', async () => !(await read()).Drain),
  }
}

/** Places them, and has them reported as running and healthy. */
async function running(
  here: Workloads,
  node: string,
  numbers: readonly number[],
  { id = 'web', type = 'service' }: { readonly id?: string; readonly type?: JobRow['type'] } = {},
): Promise<Placed> {
  const job = await here.plant(id, type)
  await here.plan(job, { place: numbers.map((number) => placedOn(job, node, number)) })
  await report(here, node, numbers, 'running', true)
  return job
}

async function report(
  here: Workloads,
  node: string,
  numbers: readonly number[],
  clientStatus: string,
  healthy: boolean | null = null,
) {
  const health = healthy === null ? null : { healthy, timeMs: nowMs }
  const told = { clientStatus, clientDescription: '', tasks: [], health }
  const reports = numbers.map((number) => ({ node, report: { id: idOf('allo', number), ...told } }))
  await here.apply('allocations.reported', { reports, nowMs: Date.now() })
}

/** What the scheduler does with what is marked, and the agent then. */
async function stopped(here: Workloads, job: Placed, node: string, numbers: readonly number[]) {
  const why = {
    desiredStatus: 'stop' as const,
    desiredDescription: '',
    lost: false,
    followupEval: '',
  }
  await here.plan(job, { stop: numbers.map((number) => ({ id: idOf('allo', number), ...why })) })
  await report(here, node, numbers, 'complete')
}

function complete(Details: unknown) {
  return { Message: 'Node drain complete', Details }
}

const hour = 3_600_000_000_000

function marked(here: Workloads, numbers: readonly number[]): readonly number[] {
  return numbers.filter((number) => here.allocation(idOf('allo', number))?.migrate === true)
}

void t.test('a service moves one by one, as its replacements turn healthy', async (t) => {
  const { here, node, elsewhere, drain, isOver, read } = await draining(t)
  const job = await running(here, node, [0, 1])
  // Two are wanted, and one may be away.
  await here.count('web', 2)
  await drain(hour)
  await eventuallyTrue('one is marked', () => marked(here, [0, 1]).length === 1)
  const [first = 0] = marked(here, [0, 1])
  const evaluation = await here.evaluationOf('node-drain')
  t.match(evaluation, { jobId: 'web', nodeId: node, status: 'pending' })

  const { jobModifyIndex } = here.job() ?? { jobModifyIndex: 0 }
  const now = { ...job, index: jobModifyIndex }
  await stopped(here, now, node, [first])
  const replacement = placedOn(job, elsewhere, 7)
  t.strictSame((await here.plan(now, { place: [replacement] })).refused, [])
  await report(here, elsewhere, [7], 'running')
  t.equal(marked(here, [0, 1]).length, 1, 'the replacement is not healthy yet')
  await report(here, elsewhere, [7], 'running', true)
  await eventuallyTrue('the other is marked', () => marked(here, [0, 1]).length === 2)
  t.equal((await read()).Drain, true)
  await stopped(here, now, node, [1 - first])
  await isOver()
  const { Events } = await read()
  t.match(Events.at(-1), { Message: 'Node drain complete', Details: null })
})

void t.test('what is unhealthy moves first, and at the pace of its group', async (t) => {
  const { here, node, elsewhere, drain } = await draining(t)
  const job = await here.plant('web')
  const place = [0, 1, 2].map((number) => placedOn(job, node, number))
  await here.plan(job, { place })
  await report(here, node, [0], 'running', true)
  await report(here, node, [1, 2], 'running', false)
  await here.count('web', 3)
  await drain(hour)
  await eventuallyTrue('one is marked', () => marked(here, [1, 2]).length === 1)
  t.strictSame(marked(here, [0]), [])
  const now = { ...job, index: here.job()?.jobModifyIndex ?? 0 }
  await stopped(here, now, node, marked(here, [1, 2]))
  await here.plan(now, { place: [placedOn(job, elsewhere, 5)] })
  t.equal(marked(here, [0, 1, 2]).length, 1, 'its replacement is not judged yet')
  await report(here, elsewhere, [5], 'running', true)
  await eventuallyTrue('the other is marked', () => marked(here, [1, 2]).length === 2)
  t.strictSame(marked(here, [0]), [])
})

void t.test('one unhealthy allocation alone moves', async (t) => {
  const { here, node, drain } = await draining(t)
  await running(here, node, [0])
  await report(here, node, [0], 'running', false)
  await here.count('web', 1)
  await drain(hour)
  await eventuallyTrue('it is marked', () => marked(here, [0]).length === 1)
})

void t.test('a drain goes on where an operator judges deployments', async (t) => {
  const { here, node, elsewhere, drain, isOver } = await draining(t)
  const Update = { MaxParallel: 1, HealthCheck: 'manual' }
  const Migrate = { MinHealthyTime: 3_000_000_000, HealthCheck: 'task_states' }
  const job = await here.plant('web', 'service', { Update, Migrate })
  const place = [placedOn(job, node, 0), placedOn(job, node, 1, { deploymentId: idOf('depl', 1) })]
  await here.plan(job, { place })
  await report(here, node, [0, 1], 'running', true)
  await here.count('web', 2)
  await drain(hour)
  await eventuallyTrue('one is marked', () => marked(here, [0, 1]).length === 1)
  const [first = 0] = marked(here, [0, 1])
  const now = { ...job, index: here.job()?.jobModifyIndex ?? 0 }
  await stopped(here, now, node, [first])
  await here.plan(now, { place: [placedOn(job, elsewhere, 7)] })
  const rulesOf = (nodeId: string, number: number) => {
    const reply = here.read((reader) => assignedTo(reader, nodeId, [idOf('allo', number)]))
    return reply.allocations.map((assigned) => healthRulesOf(assigned))
  }
  t.match(rulesOf(elsewhere, 7), [{ minHealthyMs: 3_000, byChecks: false }], 'its agent judges it')
  t.strictSame(rulesOf(node, 1), [null], 'that of a deployment waits for the operator')
  await report(here, elsewhere, [7], 'running', true)
  await eventuallyTrue('the other is marked', () => marked(here, [0, 1]).length === 2)
  await stopped(here, now, node, [1 - first])
  await isOver()
})

void t.test('it says of each allocation what it waits for', async (t) => {
  const { server, here, node, drain } = await draining(t)
  const web = await running(here, node, [0, 1])
  await here.count('web', 2)
  await running(here, node, [2], { id: 'crunch', type: 'batch' })
  await running(here, node, [3], { id: 'agent', type: 'system' })
  await drain(hour)
  await eventuallyTrue('one is marked', () => marked(here, [0, 1]).length === 1)
  const [first = 0] = marked(here, [0, 1])
  const reasons = async (token?: string) => {
    const answer = await server.ask('GET', `/v1/node/${node}/drain`, undefined, token)
    const { Waiting } = answer.json() as { Waiting: readonly { ID: string; Reason: string }[] }
    return new Map(Waiting.map(({ ID, Reason }) => [Number(ID.slice(-12)), Reason]))
  }
  const before = await reasons()
  t.match(before.get(first), /it is to move/)
  t.match(before.get(1 - first), /1 are known to be healthy or not, and 1 have to stay/)
  t.match(before.get(2), /batch work may run to its end/)
  t.match(before.get(3), /system work is stopped once all other work is gone/)
  const why = { desiredStatus: 'stop' as const, desiredDescription: '', lost: false }
  const stop = [{ id: idOf('allo', first), followupEval: '', ...why }]
  await here.plan({ ...web, index: here.job()?.jobModifyIndex ?? 0 }, { stop })
  t.match((await reasons()).get(first), /was told to stop/)
  t.equal((await server.ask('GET', `/v1/node/${idOf('node', 9)}/drain`)).status, 404)
  t.equal((await server.ask('GET', '/v1/node/12/drain')).status, 400)
})

void t.test('batch work may end, system work ends last', async (t) => {
  const { here, node, drain, isOver } = await draining(t)
  await running(here, node, [0], { id: 'crunch', type: 'batch' })
  const agent = await running(here, node, [1], { id: 'agent', type: 'system' })
  await drain(hour)
  // Something else that is looked at, after which the drain has looked too.
  await running(here, node, [2], { id: 'other', type: 'batch' })
  t.strictSame(marked(here, [0, 1, 2]), [])
  await report(here, node, [0], 'complete')
  t.strictSame(marked(here, [1]), [])
  await report(here, node, [2], 'complete')
  await eventuallyTrue('the system job goes', () => marked(here, [1]).length === 1)
  await stopped(here, agent, node, [1])
  await isOver()
})

void t.test('system work stays where the operator says so', async (t) => {
  const { here, node, drain, isOver } = await draining(t)
  await running(here, node, [1], { id: 'agent', type: 'system' })
  await drain(-1, true)
  await isOver()
  t.strictSame(marked(here, [1]), [])
})

void t.test('at once: all is marked, and the drain is over when all has ended', async (t) => {
  const { here, node, drain, isOver, read } = await draining(t)
  const web = await running(here, node, [0, 1])
  const agent = await running(here, node, [2], { id: 'agent', type: 'system' })
  const crunch = await running(here, node, [3], { id: 'crunch', type: 'batch' })
  await drain(-1)
  await eventuallyTrue('all are marked', () => marked(here, [0, 1, 2, 3]).length === 4)
  await stopped(here, web, node, [0, 1])
  await stopped(here, agent, node, [2])
  t.equal((await read()).Drain, true)
  await stopped(here, crunch, node, [3])
  await isOver()
  t.match((await read()).Events.at(-1), complete({ deadline_reached: 'true' }))
})

void t.test('a drain at once that had nothing to stop reached no deadline', async (t) => {
  const { here, node, drain, isOver, read } = await draining(t)
  const crunch = await running(here, node, [0], { id: 'crunch', type: 'batch' })
  await drain(-1)
  await eventuallyTrue('it is marked', () => marked(here, [0]).length === 1)
  await stopped(here, crunch, node, [0])
  await isOver()
  // What an earlier drain stopped does not count.
  await drain(-1)
  await isOver()
  const told = (await read()).Events.filter(({ Message }) => /complete/.test(Message))
  t.match(told, [complete({ deadline_reached: 'true' }), complete(null)])
})

void t.test('at the deadline what is left is stopped, and the event says so', async (t) => {
  const { here, node, drain, isOver, read } = await draining(t)
  const crunch = await running(here, node, [0], { id: 'crunch', type: 'batch' })
  await drain(300_000_000)
  await eventuallyTrue('it is marked', () => marked(here, [0]).length === 1)
  await stopped(here, crunch, node, [0])
  await isOver()
  const { Events } = await read()
  t.match(Events.at(-1), { Details: { deadline_reached: 'true' } })
})

void t.test(
  'a drain that is stopped marks no more; a new leader carries on with one',
  async (t) => {
    const { server, here, node, drain, read, isOver } = await draining(t)
    await running(here, node, [0], { id: 'crunch', type: 'batch' })
    await drain(hour)
    await server.ask('PUT', `/v1/node/${node}/drain`, { DrainSpec: null })
    await report(here, node, [0], 'complete')
    t.equal((await read()).Drain, false)
    t.strictSame(
      (await read()).Events.filter(({ Message }) => /complete/.test(Message)),
      [],
    )

    const other = await served(t)
    const kept = await other.here.node(1)
    const crunch = await running(other.here, kept, [0], { id: 'crunch', type: 'batch' })
    const DrainSpec = { Deadline: -1 }
    await other.server.ask('PUT', `/v1/node/${kept}/drain`, { DrainSpec })
    t.strictSame(marked(other.here, [0]), [])
    const duty = other.server.startDuty('drains')
    t.teardown(() => duty.stop())
    await eventuallyTrue('it is marked', () => marked(other.here, [0]).length === 1)
    await stopped(other.here, crunch, kept, [0])
    await eventuallyTrue('it is over', async () => {
      const answer = await other.server.ask('GET', `/v1/node/${kept}`)
      return !(answer.json() as Node).Drain
    })
    await drain(-1)
    await isOver()
  },
)
