/** Nodes that are cut off while they run what may be: their status and events, and what plans and reports make of their allocations. */
import t from 'tap'
import type { ClientReport } from '../../../src/domains/allocations/model.ts'
import {
  isAwaitedOfNode,
  windowMsOfNode,
} from '../../../src/domains/allocations/node-work-queries.ts'
import type { ReportedOutcome } from '../../../src/domains/allocations/reported-commands.ts'
import type { Reader } from '../../../src/fsm/domain.ts'
import { nodes } from '../../../src/domains/nodes/table.ts'
import { idOf, nowMs, placedOn, workloads, type Workloads } from './workloads.ts'

const [first, second, third] = [idOf('allo', 0), idOf('allo', 1), idOf('allo', 2)]
const untilMs = 90_000

function report(here: Workloads, node: string, id: string, more: Partial<ClientReport> = {}) {
  const told = { clientStatus: 'running', clientDescription: '', tasks: [], health: null } as const
  const reports = [{ node, report: { id, ...told, ...more } }]
  return here.apply<ReportedOutcome>('allocations.reported', { reports, nowMs })
}

function becomes(here: Workloads, id: string, status: string): Promise<unknown> {
  const more = status === 'disconnected' ? { untilMs } : {}
  const updates = [{ id, status, cause: 'heartbeat', ...more }]
  return here.apply('nodes.status', { updates, nowMs })
}

const nodeOf = (here: Workloads, id: string) => here.read((reader) => reader.get(nodes, [id]))

async function onView<Result>(
  here: Workloads,
  read: (reader: Reader) => Promise<Result>,
): Promise<Result> {
  const view = here.machine.view()
  try {
    return await read(view)
  } finally {
    view.close()
  }
}

/** One allocation runs on the first node, which is cut off. */
async function cutOff(here: Workloads) {
  const [node, other] = [await here.node(1), await here.node(2)]
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, node, 0)] })
  await report(here, node, first, { health: { healthy: true, timeMs: 1 } })
  await becomes(here, node, 'disconnected')
  return { node, other, job }
}

void t.test('a node that is cut off says until when, and its way back', async (t) => {
  const here = await workloads(t)
  const { node } = await cutOff(here)
  t.match(nodeOf(here, node), { status: 'disconnected', disconnectedUntilMs: untilMs })
  await becomes(here, node, 'initializing')
  t.equal(nodeOf(here, node)?.disconnectedUntilMs, undefined)
  await becomes(here, node, 'ready')
  await becomes(here, node, 'disconnected')
  await becomes(here, node, 'down')
  t.strictSame(
    nodeOf(here, node)?.events.map(({ message, details }) => [message, details]),
    [
      ['Node registered', []],
      ['Node heartbeat missed', [['disconnected_until', '1970-01-01T00:01:30.000Z']]],
      ['Node reregistered by heartbeat', []],
      ['Node heartbeat missed', [['disconnected_until', '1970-01-01T00:01:30.000Z']]],
      ['Node heartbeat missed', [['disconnected', 'too long']]],
    ],
  )
  t.equal(nodeOf(here, node)?.disconnectedUntilMs, undefined)
})

void t.test(
  'what is cut off leaves its name to another, and keeps its part of its node',
  async (t) => {
    const here = await workloads(t)
    const { node, other, job } = await cutOff(here)
    const replaced = placedOn(job, other, 1, { name: 'web.g[0]', previous: first })
    const early = await here.plan(job, { place: [replaced] })
    t.match(early.refused, [{ reason: 'one of its name runs' }])

    const outcome = await here.plan(job, { unknown: [first], place: [replaced] })
    t.strictSame(outcome.refused, [])
    t.strictSame([...outcome.nodes].toSorted(), [node, other].toSorted(), 'its agent is told')
    const row = here.allocation(first)
    t.match(row, { clientStatus: 'unknown', desiredStatus: 'run', next: second })
    t.equal(row?.allocModifyIndex, here.machine.appliedIndex)
    t.match(here.job(), { status: 'running', groups: [{ running: 0, unknown: 1, starting: 1 }] })

    const large = placedOn(job, node, 2, { cpuMhz: 3_950 })
    await becomes(here, node, 'initializing')
    await becomes(here, node, 'ready')
    t.match((await here.plan(job, { place: [large] })).refused, [{ reason: /too little cpu/ }])
  },
)

void t.test('where the node is back already, it has its name', async (t) => {
  const here = await workloads(t)
  const { node, other, job } = await cutOff(here)
  await becomes(here, node, 'initializing')
  const place = [placedOn(job, other, 1, { name: 'web.g[0]', previous: first })]
  const outcome = await here.plan(job, { unknown: [first], place })
  t.strictSame(
    outcome.refused.map(({ reason }) => reason),
    ['its node is not cut off', 'one of its name runs'],
  )
  t.equal(here.allocation(first)?.clientStatus, 'running')
})

void t.test(
  'what its agent says of one that was cut off has its job looked at again',
  async (t) => {
    const here = await workloads(t)
    const { node, other, job } = await cutOff(here)
    const place = [placedOn(job, other, 1, { name: 'web.g[0]', previous: first })]
    await here.plan(job, { unknown: [first], place })
    t.equal(await onView(here, (reader) => isAwaitedOfNode(reader, node)), true)
    await becomes(here, node, 'initializing')
    const { evaluations } = await report(here, node, first)
    t.equal(evaluations.length, 1)
    t.match(await here.evaluationOf('reconnect'), { status: 'pending', jobId: 'web' })
    t.match(here.job(), { groups: [{ running: 1, unknown: 0, starting: 1 }] })
    t.equal(await onView(here, (reader) => isAwaitedOfNode(reader, node)), false)
    // Both of the name run until the plan of that evaluation.
    const another = placedOn(job, other, 2, { name: 'web.g[0]' })
    t.match((await here.plan(job, { place: [another] })).refused, [{ reason: /name runs/ }])
  },
)

void t.test('while a node is cut off, what is over there is lost', async (t) => {
  const here = await workloads(t)
  const { node, job } = await cutOff(here)
  await here.plan(job, { unknown: [first] })
  const stop = { id: first, desiredStatus: 'stop', desiredDescription: 'lost' } as const
  await here.plan(job, { stop: [{ ...stop, lost: true, followupEval: '' }] })
  t.match(here.allocation(first), { clientStatus: 'lost', desiredStatus: 'stop' })
  t.match(here.job(), { groups: [{ unknown: 0, lost: 1 }] })
  const { evaluations } = await report(here, node, first, { clientStatus: 'complete' })
  t.strictSame(evaluations, [])
})

void t.test('a node may be cut off for as long as anything that runs there', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const windowMs = () => onView(here, (reader) => windowMsOfNode(reader, node))
  const windows = [undefined, 60e9, 90e9]
  for (const [at, MaxClientDisconnect] of windows.entries()) {
    const lets = MaxClientDisconnect === undefined ? {} : { MaxClientDisconnect }
    const job = await here.plant(`job${at}`, 'service', lets)
    await here.plan(job, { place: [placedOn(job, node, at)] })
  }
  t.equal(await windowMs(), null, 'none of them said that it runs')
  const expected = [null, 60_000, 90_000]
  for (const [at, ms] of expected.entries()) {
    await report(here, node, idOf('allo', at))
    t.equal(await windowMs(), ms)
  }
  await report(here, node, third, { clientStatus: 'complete' })
  t.equal(await windowMs(), 60_000)
})
