/** What is missing while the newest version does not take its place: of which version it comes back, and that it is not forgotten. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { DeploymentRow } from '../../src/domains/deployments/model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
import { allocationRow, decide, id, jobSpec, nodeRow, scheduledJob, type World } from './cluster.ts'
import { deploymentRow } from './worlds.ts'

const nodes = [nodeRow(1), nodeRow(2)]
const full = nodes.map((node) => ({ ...node, eligible: false }))

/** Of version 0 that served, and version 1 of which the deployment has failed, is paused, or has canaries that wait. */
function updated(
  state: Pick<DeploymentRow, 'status'> & { readonly canary?: number },
  allocations: readonly AllocationRow[],
  counts: readonly [number, number] = [2, 2],
): World {
  const { status, canary = 0 } = state
  const [before, after] = counts.map((Count, version) =>
    jobSpec(
      { Meta: { version: String(version) } },
      { Count, Update: { MaxParallel: 1, Canary: canary } },
    ),
  )
  const both = [before, after].filter((spec) => spec !== undefined)
  const deployment = deploymentRow({
    jobVersion: 1,
    status,
    desiredCanaries: canary,
    promoted: false,
  })
  return {
    nodes,
    job: scheduledJob(last(both), { version: 1 }),
    specs: both,
    deployment,
    allocations,
  }
}

function last(specs: readonly JobSpec[]): JobSpec {
  const spec = specs.at(-1)
  if (spec === undefined) throw new Error('there is one')
  return spec
}

const old = allocationRow(0)
/** It was moved, and found no place. */
const gone = allocationRow(1, {
  desiredStatus: 'stop',
  desiredDescription: reasons.migrated,
  clientStatus: 'complete',
})
const trial = { jobVersion: 1, deploymentId: id(800) }
const canary = allocationRow(2, { ...trial, index: 0, canary: true })

function placed({ place }: Decision) {
  return place.map(({ allocation }) => [
    allocation.name,
    allocation.jobVersion,
    allocation.canary === true,
  ])
}

t.test('while canaries wait what is missing comes back as it was', async (t) => {
  const world = updated({ status: 'running', canary: 1 }, [old, gone, canary])
  const decision = decide(world)
  t.same(placed(decision), [['job.web[1]', 0, false]])
  t.notOk(decision.place[0]?.allocation.deploymentId)
  const none = decide({ ...world, nodes: full })
  // Without a place it waits for one, again and again.
  t.same(none.queued, [['web', 1]])
  t.equal(none.failed.length, 1)
  const all = decide(updated({ status: 'running', canary: 1 }, [gone, canary]))
  t.same(placed(all), [
    ['job.web[0]', 0, false],
    ['job.web[1]', 0, false],
  ])
  // A count that only the newest version has comes with its promotion.
  t.same(decide(updated({ status: 'running', canary: 1 }, [old, canary], [1, 3])).place, [])
  t.same(decide(updated({ status: 'running', canary: 1 }, [old, canary], [3, 1])).place, [])
})

t.test('after a deployment that failed nothing of its version is placed', async (t) => {
  const failed = allocationRow(3, { ...trial, index: 1, clientStatus: 'failed', health: null })
  for (const status of ['failed', 'paused'] as const) {
    const missing = decide(updated({ status }, [old, gone]))
    t.same(placed(missing), [['job.web[1]', 0, false]])
    t.same(decide({ ...updated({ status }, [old, gone]), nodes: full }).queued, [['web', 1]])
    const moves = decide(updated({ status }, [old, allocationRow(1, { migrate: true })]))
    t.same(placed(moves), [['job.web[1]', 0, false]])
  }
  // What failed stays, for its operator to see.
  t.same(decide(updated({ status: 'failed' }, [old, failed])).place, [])
  // Nothing served before.
  t.same(decide(updated({ status: 'failed' }, [{ ...failed, clientStatus: 'lost' }])).place, [])
})

t.test('a version that became healthy serves, whatever became of its deployment', async (t) => {
  const healthy = allocationRow(0, trial)
  const lost = allocationRow(1, {
    ...trial,
    desiredStatus: 'stop',
    desiredDescription: reasons.lost,
    clientStatus: 'lost',
  })
  const decision = decide(updated({ status: 'failed' }, [healthy, lost]))
  t.same(placed(decision), [['job.web[1]', 1, false]])
  const unhealthy = { ...healthy, health: { healthy: false, timeMs: 1 } }
  t.same(decide(updated({ status: 'failed' }, [unhealthy, { ...lost, health: null }])).place, [])
  // That of before runs still.
  const both = decide(updated({ status: 'failed' }, [healthy, allocationRow(2), lost], [3, 3]))
  t.same(placed(both), [['job.web[1]', 0, false]])
})

t.test('one of the version that serves and fails is placed anew after its delay', async (t) => {
  const failed = allocationRow(1, { clientStatus: 'failed', modifyMs: 1_000_000 })
  const world = updated({ status: 'failed' }, [old, failed])
  const early = decide({ ...world, nowMs: 1_010_000 })
  t.same([early.place, early.stop, early.followUpMs], [[], [], 1_030_000])
  t.same(placed(decide({ ...world, nowMs: 1_030_000 })), [['job.web[1]', 0, false]])
})

t.test('an older one without a place does not keep canaries from theirs', async (t) => {
  const group = (CPU: number) => ({
    Count: 3,
    Update: { MaxParallel: 1, Canary: 1 },
    Tasks: [{ Name: 'main', Driver: 'mock_driver', Resources: { CPU, MemoryMB: 64 } }],
  })
  const specs = [jobSpec({}, group(3_000)), jobSpec({}, group(500))]
  const resources = { tasks: [{ task: 'main', cpuMhz: 3_000, memoryMb: 64 }], diskMb: 1, ports: [] }
  const decision = decide({
    nodes: [nodeRow(1), nodeRow(2, {}, { status: 'down' })],
    job: scheduledJob(last(specs), { version: 1 }),
    specs,
    allocations: [0, 1, 2].map((at) =>
      allocationRow(at, { nodeId: id(Math.min(2, at + 1)), resources }),
    ),
  })
  t.same(placed(decision), [['job.web[0]', 1, true]])
  t.same(decision.queued, [['web', 2]])
  t.match(decision.failed, [['web', { coalescedFailures: 1 }]])
  t.equal(decision.failed.length, 1)
})
