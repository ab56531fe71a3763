/** Random worlds for the rules of the scheduler: nodes in all states, jobs of all types in two versions, and what is there of them. */
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { DeploymentRow } from '../../src/domains/deployments/model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
import fc from '../support/fast-check.ts'
import { allocationRow, driver, id, jobSpec, nodeRow, scheduledJob, type World } from './cluster.ts'

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
      isForced: fc.boolean(),
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
          drain: node.isDraining ? drainOf(node.isForced) : null,
        },
      ),
    ),
  )

/** Without a deadline, or beyond it. */
function drainOf(isForced: boolean): NodeRow['drain'] {
  const common = { ignoreSystemJobs: false, startedMs: 0 }
  return isForced
    ? { ...common, deadlineNs: 1e9, forceMs: 1_000 }
    : { ...common, deadlineNs: 0, forceMs: null }
}

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
      // Of the nodes, in percent.
      ...(Type === 'system' && { Update: { MaxParallel: maxParallel, Canary: canary * 34 } }),
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

const anyWorlds = fc
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
    const isEverywhere = spec?.Type === 'system' || spec?.Type === 'sysbatch'
    const isDeployed = ['service', 'system'].includes(spec?.Type ?? '') && parallelMax > 0
    const deployment = isDeployed && deployed !== null ? deploymentRow(deployed) : null
    return fc.record({
      nodes: fc.constant(world.nodes),
      allocations: fc.constant(
        world.allocations.map((row) => ({
          ...deployedWith(deployment, row),
          // Names of jobs that run on every node are all alike.
          ...(isEverywhere && { name: 'job.web[0]' }),
        })),
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

export function deploymentRow({
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

/** A system job that ran everywhere until its newest version came: of any world most updates are not so. */
const everywhereUpdates = fc
  .record({
    nodes,
    maxParallel: fc.integer({ min: 0, max: 3 }),
    canary: fc.constantFrom(0, 1, 34, 50, 100),
    states: fc.array(fc.constantFrom('ready', 'ready', 'ready', 'as drawn'), {
      minLength: 6,
      maxLength: 6,
    }),
    healthy: fc.array(fc.constantFrom(true, true, false), { minLength: 6, maxLength: 6 }),
    without: fc.constantFrom(0, 0, 1, 2),
    seed: fc.nat(),
  })
  .map(({ nodes: drawn, maxParallel, canary, states, healthy, without, seed }): World => {
    const spec = (Meta: Record<string, string>): JobSpec =>
      jobSpec({ Type: 'system', Meta }, { Update: { MaxParallel: maxParallel, Canary: canary } })
    const after = spec({ changed: 'yes' })
    return {
      nodes: drawn.map((node, at): NodeRow => {
        if (states[at] !== 'ready') return node
        return { ...node, status: 'ready', eligible: true, drain: null }
      }),
      allocations: drawn.slice(without).map((node, at) =>
        allocationRow(at, {
          index: 0,
          nodeId: node.id,
          nodeName: node.spec.name,
          health: healthy[at] === true ? { healthy: true, timeMs: 1 } : null,
        }),
      ),
      deployment: null,
      specs: [spec({}), after],
      job: scheduledJob(after, { version: 1 }),
      seed,
    }
  })

export const worlds: fc.Arbitrary<World> = fc.oneof(
  { weight: 3, arbitrary: anyWorlds },
  { weight: 1, arbitrary: everywhereUpdates },
)
