/** Random clusters, jobs and allocations: every decision keeps the rules, and repeating it comes to rest where the job is as wanted. */
import assert from 'node:assert/strict'
import t from 'tap'
import { isClientTerminal, type AllocationRow } from '../../src/domains/allocations/model.ts'
import type { DeploymentRow } from '../../src/domains/deployments/model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { amount } from '../support/randomness.ts'
import fc from '../support/fast-check.ts'
import {
  allocationRow,
  decide,
  driver,
  id,
  jobSpec,
  nodeRow,
  scheduledJob,
  type World,
} from './cluster.ts'
import { brokenRules } from './rules.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'

/** Nodes were cut off for longer than jobs let them, or just now, at the times of both tests below. */
const windowMs = 600_000
const cutOffMs = [0, 9_900_000] as const

const nodes = fc
  .array(
    fc.record({
      datacenter: fc.constantFrom('dc1', 'dc1', 'dc1', 'dc2'),
      cpuMhz: fc.constantFrom(400, 1_000, 2_500, 2_500),
      isAble: fc.constantFrom(true, true, true, false),
      disk: fc.constantFrom('ssd', 'hdd'),
      status: fc.constantFrom<NodeRow['status']>(
        'ready',
        'ready',
        'ready',
        'down',
        'initializing',
        'disconnected',
        'disconnected',
      ),
      statusUpdatedMs: fc.constantFrom(...cutOffMs),
      eligible: fc.constantFrom(true, true, true, false),
      isDraining: fc.constantFrom(false, false, false, true),
    }),
    { maxLength: 6 },
  )
  .map((drawn) =>
    drawn.map((node, at) =>
      nodeRow(
        at + 1,
        {
          datacenter: node.datacenter,
          nodeClass: `${node.datacenter}-${node.disk}`,
          meta: [['disk', node.disk]],
          drivers: [driver('mock_driver', node.isAble)],
          resources: {
            cpuMhz: node.cpuMhz,
            memoryMb: 8_000,
            diskMb: 90_000,
            networks: [],
            nodeNetworks: [],
          },
        },
        {
          status: node.status,
          statusUpdatedMs: node.statusUpdatedMs,
          eligible: node.eligible && !node.isDraining,
          drain: node.isDraining
            ? { deadlineNs: 0, ignoreSystemJobs: false, startedMs: 0, forceMs: null }
            : null,
        },
      ),
    ),
  )

const specs = fc
  .record({
    Type: fc.constantFrom('service', 'batch', 'system', 'sysbatch'),
    Count: fc.integer({ min: 0, max: 6 }),
    maxParallel: fc.integer({ min: 0, max: 3 }),
    canary: fc.constantFrom(0, 0, 1, 2),
    hasPort: fc.constantFrom(false, false, true),
    disk: fc.constantFrom(null, null, null, 'ssd'),
    isOther: fc.boolean(),
    lets: fc.constantFrom('away', 'away', 'leaving', 'nothing'),
  })
  .map(({ Type, Count, maxParallel, canary, hasPort, disk, isOther, lets }): readonly JobSpec[] => {
    const everywhere = Type === 'system' || Type === 'sysbatch'
    const group = {
      Count: everywhere ? Math.min(1, Count) : Count,
      Networks: hasPort ? [{ ReservedPorts: [{ Label: 'http', Value: 8080 }] }] : [],
      ...(lets === 'away' && { MaxClientDisconnect: windowMs * 1e6 }),
      ...(lets === 'leaving' && !everywhere && { StopAfterClientDisconnect: 60e9 }),
      ...(Type === 'service' && { Update: { MaxParallel: maxParallel, Canary: canary } }),
      ...(Type === 'system' && { Update: { MaxParallel: maxParallel } }),
    }
    const Constraints =
      disk === null ? [] : [{ LTarget: '${meta.disk}', Operand: '=', RTarget: disk }]
    const draft = { Type, Constraints }
    // A change in place, or one that needs a new allocation.
    const change = isOther ? { Meta: { changed: 'yes' } } : { Priority: 60 }
    return [jobSpec(draft, group), jobSpec({ ...draft, ...change }, group)]
  })

const allocations = fc
  .array(
    fc.record({
      index: fc.integer({ min: 0, max: 5 }),
      node: fc.integer({ min: 1, max: 7 }),
      jobVersion: fc.integer({ min: 0, max: 1 }),
      clientStatus: fc.constantFrom<AllocationRow['clientStatus']>(
        'pending',
        'running',
        'running',
        'running',
        'complete',
        'failed',
        'lost',
        'unknown',
      ),
      createIndex: fc.integer({ min: 1, max: 3 }),
      isWanted: fc.constantFrom(true, true, true, false),
      migrate: fc.constantFrom(false, false, false, true),
      isHealthy: fc.boolean(),
      isCanary: fc.constantFrom(false, false, true),
    }),
    { maxLength: 8 },
  )
  .map((drawn) =>
    drawn.map(({ node, isWanted, isHealthy, isCanary, ...row }, at) =>
      allocationRow(at, {
        ...row,
        nodeId: id(node),
        resources: { tasks: [{ task: 'main', cpuMhz: 200, memoryMb: 64 }], diskMb: 100, ports: [] },
        desiredStatus: isWanted ? 'run' : 'stop',
        desiredDescription: row.clientStatus === 'lost' ? reasons.lost : '',
        health: isHealthy ? { healthy: true, timeMs: 1 } : null,
        modifyMs: 999_000,
        ...(isCanary && { canary: true }),
      }),
    ),
  )

const deployments = fc.record({
  jobVersion: fc.constantFrom(0, 1, 1),
  status: fc.constantFrom<DeploymentRow['status']>(
    'running',
    'running',
    'paused',
    'failed',
    'successful',
    'cancelled',
  ),
  desiredCanaries: fc.constantFrom(0, 0, 1, 2),
  promoted: fc.boolean(),
})

const worlds = fc
  .record({
    nodes,
    specs,
    allocations,
    deployed: fc.option(deployments),
    isGone: fc.constantFrom(false, false, false, false, false, true),
  })
  .chain(({ specs: both, isGone, deployed, ...world }) => {
    const [before, after] = both
    const spec = after ?? before
    const parallelMax = spec?.TaskGroups[0]?.Update?.MaxParallel ?? 0
    const isDeployed = spec?.Type === 'service' && parallelMax > 0
    const deployment = isDeployed && deployed !== null ? deploymentRow(deployed) : null
    return fc.record({
      nodes: fc.constant(world.nodes),
      allocations: fc.constant(
        // Names of jobs that run on every node are all alike.
        spec?.Type === 'system' || spec?.Type === 'sysbatch'
          ? world.allocations.map((row) => ({ ...row, name: 'job.web[0]' }))
          : world.allocations.map((row) => deployedWith(deployment, row)),
      ),
      deployment: fc.constant(deployment),
      specs: fc.constant(both),
      job: fc.constant(spec === undefined || isGone ? null : scheduledJob(spec, { version: 1 })),
      seed: fc.nat(),
    })
  })

/** Of the version of the deployment, each is a part of it; a canary of none is just an allocation. */
function deployedWith(deployment: DeploymentRow | null, row: AllocationRow): AllocationRow {
  const { canary, ...rest } = row
  if (deployment === null || row.jobVersion !== deployment.jobVersion) return rest
  return { ...rest, deploymentId: deployment.id, ...(canary === true && { canary }) }
}

function deploymentRow({
  jobVersion,
  status,
  ...group
}: {
  readonly jobVersion: number
  readonly status: DeploymentRow['status']
  readonly desiredCanaries: number
  readonly promoted: boolean
}): DeploymentRow {
  const counts = { desiredTotal: 1, placed: 0, healthy: 0, unhealthy: 0, healthyCanaries: 0 }
  const rules = { autoRevert: false, autoPromote: false, progressDeadlineMs: 0 }
  return {
    id: id(800),
    namespace: 'default',
    jobId: 'job',
    jobCreateIndex: 10,
    jobVersion,
    jobModifyIndex: 10,
    jobSpecModifyIndex: 10,
    evalPriority: 50,
    groups: [
      {
        group: 'web',
        ...rules,
        ...counts,
        ...group,
        requireProgressByMs: null,
        placedCanaries: [],
      },
    ],
    status,
    statusDescription: '',
    createMs: 0,
    modifyMs: 0,
    createIndex: 1,
    modifyIndex: 1,
  }
}

t.test('every decision keeps the rules', async (t) => {
  fc.assert(
    fc.property(worlds, (world: World) => {
      const broken = brokenRules(world, decide(world))
      if (broken.length > 0) throw new Error(broken.join('; '))
    }),
    { numRuns: amount('SCHEDULER_DECISIONS', { gate: 2_000, long: 50_000 }) },
  )
  t.pass('for all worlds')
})

t.test('of a job that is to run nothing, nothing follows from what is over', async (t) => {
  fc.assert(
    fc.property(worlds, (world: World) => {
      const stopped = { ...world, job: world.job === null ? null : { ...world.job, stop: true } }
      const allocations = world.allocations?.filter((row) => !isClientTerminal(row)) ?? []
      assert.deepEqual(decide({ ...stopped, allocations }), decide(stopped))
    }),
    { numRuns: amount('SCHEDULER_DECISIONS', { gate: 500, long: 10_000 }) },
  )
  t.pass('for all worlds')
})

/** What the plan is applied to, and what the agents make of it: what is to stop has ended, the rest runs and is healthy. */
function after(world: World, decision: Decision, round: number): World {
  const { allocations = [], job } = world
  const stops = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])]
  const byId = new Map(stops.map((stop) => [stop.id, stop]))
  const updated = new Map(decision.update.map((update) => [update.id, update]))
  const rows = allocations.map((row): AllocationRow => {
    const stop = byId.get(row.id)
    const isOver = ['complete', 'failed', 'lost'].includes(row.clientStatus)
    if (stop === undefined) {
      const { canary: _canary, deploymentId: _left, ...rest } = row
      const update = updated.get(row.id)
      if (isOver || row.desiredStatus !== 'run') {
        return { ...row, clientStatus: isOver ? row.clientStatus : 'complete' }
      }
      const deploymentId = update?.deploymentId
      const changed =
        update === undefined
          ? row
          : {
              ...rest,
              jobVersion: job?.version ?? 0,
              ...(deploymentId !== undefined && { deploymentId }),
            }
      const isCutOff = world.nodes.some(
        ({ id, status }) => id === row.nodeId && status === 'disconnected',
      )
      if (isCutOff) {
        const isNamed = decision.unknown.includes(row.id)
        return { ...changed, clientStatus: isNamed ? 'unknown' : row.clientStatus }
      }
      return { ...changed, clientStatus: 'running', health: { healthy: true, timeMs: 1 } }
    }
    return {
      ...row,
      desiredStatus: 'stop',
      desiredDescription: stop.desiredDescription,
      modifyMs: world.nowMs ?? 0,
      clientStatus: stop.lost ? 'lost' : isOver ? row.clientStatus : 'complete',
    }
  })
  const placed = decision.place.map(({ allocation }, at) => ({
    ...allocationRow(0),
    ...allocation,
    id: id(100_000 * (round + 1) + at),
    createIndex: 100 + round,
  }))
  return {
    ...world,
    allocations: [...rows, ...placed],
    deployment: deploymentAfter(world, decision),
  }
}

function deploymentAfter({ deployment = null, job }: World, decision: Decision) {
  const { create, ends } = decision.deployment
  if (create !== null) {
    const [group] = create.groups
    const desiredCanaries = group?.desiredCanaries ?? 0
    const made = { status: 'running', desiredCanaries, promoted: false } as const
    return { ...deploymentRow({ ...made, jobVersion: job?.version ?? 0 }), id: create.id }
  }
  const [end] = ends
  return deployment === null || end === undefined
    ? deployment
    : { ...deployment, status: end.status }
}

/** What an operator does once nothing moves: goes on with what is paused, and promotes canaries. Null: there is nothing to do. */
function operated({ deployment = null, job }: World): DeploymentRow | null {
  if (deployment === null || deployment.jobVersion !== job?.version) return null
  if (deployment.status === 'paused') return { ...deployment, status: 'running' }
  const [group] = deployment.groups
  if (deployment.status !== 'running' || group === undefined) return null
  if (group.desiredCanaries === 0 || group.promoted) return null
  return { ...deployment, groups: [{ ...group, promoted: true }] }
}

/** The time goes by that agents have to end what is lost. Null: none has. */
function waited({ allocations = [] }: World, { followUpMs }: Decision) {
  const isLost = allocations.some(({ clientStatus }) => clientStatus === 'lost')
  return isLost && followUpMs !== null ? { nowMs: followUpMs } : null
}

/** What was cut off is back. Null: nothing was. */
function returned({ nodes }: World) {
  if (!nodes.some(({ status }) => status === 'disconnected')) return null
  return {
    nodes: nodes.map((node) =>
      node.status === 'disconnected' ? { ...node, status: 'ready' as const } : node,
    ),
  }
}

/** Agents have said of all that runs that it is healthy. */
function areAllHealthy({ nodes, allocations = [] }: World): boolean {
  const isCutOff = (nodeId: string) =>
    nodes.some(({ id, status }) => id === nodeId && status === 'disconnected')
  return allocations.every(
    ({ desiredStatus, clientStatus, health, nodeId }) =>
      desiredStatus !== 'run' ||
      ['complete', 'failed', 'lost'].includes(clientStatus) ||
      isCutOff(nodeId) ||
      (health?.healthy === true && clientStatus !== 'unknown'),
  )
}

/** It is under way although all that it wants is there. */
function isStuck({ deployment = null, job, allocations = [] }: World, { queued }: Decision) {
  const waits = queued.some(([, count]) => count > 0)
  const hasFailed = allocations.some((row) => row.clientStatus === 'failed')
  const isCurrent = deployment?.jobVersion === job?.version && deployment?.status === 'running'
  return isCurrent && !waits && !hasFailed
}

t.test('repeated, it comes to rest, and then the job is as wanted', async (t) => {
  fc.assert(
    fc.property(worlds, (start: World) => {
      let world = { ...start, nowMs: 10_000_000 }
      for (let round = 0; round < 40; round += 1) {
        const decision = decide(world)
        const broken = brokenRules(world, decision)
        if (broken.length > 0) throw new Error(`round ${round}: ${broken.join('; ')}`)
        const { stop, place, update, deployment } = decision
        const isIdle = stop.length + place.length + update.length + deployment.ends.length === 0
        if (isIdle && deployment.create === null && areAllHealthy(world)) {
          const later = waited(world, decision) ?? returned(world)
          if (later !== null) {
            world = { ...world, ...later }
            continue
          }
          const next = operated(world)
          if (next === null && isStuck(world, decision)) throw new Error('it never ends')
          if (next === null) return
          world = { ...world, deployment: next }
        } else {
          world = { ...world, ...after(world, decision, round) }
        }
      }
      throw new Error('it goes on for ever')
    }),
    { numRuns: amount('SCHEDULER_ROUNDS', { gate: 500, long: 12_000 }) },
  )
  t.pass('for all worlds')
})
