/** Groups with a sticky disk: what replaces an allocation goes where the data of that one is. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
import { deadTask } from '../support/dead-task.ts'
import { allocationRow, decide, id, jobSpec, nodeRow, scheduledJob } from './cluster.ts'

const nodes = Array.from({ length: 8 }, (_none, at) => nodeRow(at + 1))
const home = id(3)

function spec(driver: string, group: Record<string, unknown> = {}, cpu = 500): JobSpec {
  const Tasks = [{ Name: 'main', Driver: 'mock_driver', Env: { driver }, Resources: { CPU: cpu } }]
  return jobSpec({}, { Tasks, EphemeralDisk: { Sticky: true }, ...group })
}

function updated(before: JobSpec, after: JobSpec, row: Partial<AllocationRow> = {}, world = nodes) {
  const allocations = [allocationRow(0, { nodeId: home, ...row })]
  const job = scheduledJob(after, { version: 1 })
  return decide({ nodes: world, job, allocations, specs: [before, after] })
}

t.test('what an update replaces stays on its node', async (t) => {
  const { place } = updated(spec('a'), spec('b'))
  t.same(
    place.map(({ allocation }) => [allocation.nodeId, allocation.previous]),
    [[home, id(1_000)]],
  )
})

t.test('where both do not fit, the first ends, and the second follows it there', async (t) => {
  const big = { tasks: [{ task: 'main', cpuMhz: 3_000, memoryMb: 256 }], diskMb: 300, ports: [] }
  const first = updated(spec('a', {}, 3_000), spec('b', {}, 3_000), { resources: big })
  t.same(first.place, [])
  t.same(
    first.stop.map(({ id, desiredDescription }) => [id, desiredDescription]),
    [[id(1_000), reasons.updated]],
  )
  const ended = { desiredStatus: 'stop', desiredDescription: reasons.updated } as const
  const { place } = updated(spec('a', {}, 3_000), spec('b', {}, 3_000), {
    resources: big,
    ...ended,
    clientStatus: 'complete',
  })
  t.same(
    place.map(({ allocation }) => [allocation.nodeId, allocation.previous]),
    [[home, id(1_000)]],
  )
})

t.test('one that failed is placed anew where it was', async (t) => {
  const job = scheduledJob(spec('a', { ReschedulePolicy: { Unlimited: true, Delay: 5e9 } }))
  const failed = allocationRow(0, {
    nodeId: home,
    clientStatus: 'failed',
    tasks: [deadTask([], { failed: true })],
  })
  const { place } = decide({ nodes, job, allocations: [failed] })
  t.same(
    place.map(({ allocation }) => [allocation.nodeId, allocation.previous]),
    [[home, failed.id]],
  )
})

t.test('it goes elsewhere where its node takes no work or has no room', async (t) => {
  const around = nodes.map((node) => (node.id === home ? { ...node, eligible: false } : node))
  const [ineligible] = updated(spec('a'), spec('b'), {}, around).place
  t.not(ineligible?.allocation.nodeId, home)
  t.equal(ineligible?.allocation.previous, id(1_000))
  const [grown] = updated(
    spec('a'),
    spec('b', { Constraints: [{ LTarget: '${node.unique.id}', RTarget: home, Operand: '!=' }] }),
  ).place
  t.not(grown?.allocation.nodeId, home)
})

t.test('one that failed while there was no room follows its data later', async (t) => {
  const job = scheduledJob(spec('a', { ReschedulePolicy: { Unlimited: true, Delay: 5e9 } }))
  const failed = allocationRow(0, {
    nodeId: home,
    clientStatus: 'failed',
    tasks: [deadTask([], { failed: true })],
  })
  const around = nodes.map((node) => ({ ...node, eligible: false }))
  const [stop] = decide({ nodes: around, job, allocations: [failed] }).stop
  t.equal(stop?.desiredDescription, reasons.rescheduled)
  const ended = {
    ...failed,
    desiredStatus: 'stop',
    desiredDescription: reasons.rescheduled,
  } as const
  const { place } = decide({ nodes, job, allocations: [ended] })
  t.same(
    place.map(({ allocation }) => [allocation.nodeId, allocation.previous]),
    [[home, failed.id]],
  )
})

t.test('one that is stopped by hand waits for its own room at home', async (t) => {
  const big = { tasks: [{ task: 'main', cpuMhz: 3_000, memoryMb: 256 }], diskMb: 300, ports: [] }
  const job = scheduledJob(spec('a', {}, 3_000))
  const row = allocationRow(0, { nodeId: home, migrate: true, resources: big })
  const first = decide({ nodes, job, allocations: [row] })
  t.same(first.place, [])
  t.same(first.queued, [['web', 1]])
  t.same(
    first.stop.map(({ id, desiredDescription }) => [id, desiredDescription]),
    [[row.id, reasons.migrated]],
  )
  const ended = { desiredStatus: 'stop', desiredDescription: reasons.migrated } as const
  const after = { ...row, ...ended, clientStatus: 'complete' } as const
  const { place } = decide({ nodes, job, allocations: [after] })
  t.same(
    place.map(({ allocation }) => [allocation.nodeId, allocation.previous]),
    [[home, row.id]],
  )
  const around = nodes.map((node) => (node.id === home ? { ...node, eligible: false } : node))
  t.not(decide({ nodes: around, job, allocations: [row] }).place[0]?.allocation.nodeId, home)
})
