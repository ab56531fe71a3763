/** Random clusters, jobs and allocations: every decision keeps the rules, and repeating it comes to rest where the job is as wanted. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import type { NodeRow } from '../../src/domains/nodes/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { amount } from '../support/chance.ts'
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

const nodes = fc
  .array(
    fc.record({
      datacenter: fc.constantFrom('dc1', 'dc1', 'dc1', 'dc2'),
      cpuMhz: fc.constantFrom(400, 1_000, 2_500, 2_500),
      isAble: fc.constantFrom(true, true, true, false),
      disk: fc.constantFrom('ssd', 'hdd'),
      status: fc.constantFrom<NodeRow['status']>('ready', 'ready', 'ready', 'down', 'initializing'),
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
    hasPort: fc.constantFrom(false, false, true),
    disk: fc.constantFrom(null, null, null, 'ssd'),
    isOther: fc.boolean(),
  })
  .map(({ Type, Count, maxParallel, hasPort, disk, isOther }): readonly JobSpec[] => {
    const everywhere = Type === 'system' || Type === 'sysbatch'
    const group = {
      Count: everywhere ? Math.min(1, Count) : Count,
      Networks: hasPort ? [{ ReservedPorts: [{ Label: 'http', Value: 8080 }] }] : [],
      ...(Type === 'batch' || Type === 'sysbatch' ? {} : { Update: { MaxParallel: maxParallel } }),
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
      ),
      isWanted: fc.constantFrom(true, true, true, false),
      migrate: fc.constantFrom(false, false, false, true),
      isHealthy: fc.boolean(),
    }),
    { maxLength: 8 },
  )
  .map((drawn) =>
    drawn.map(({ node, isWanted, isHealthy, ...row }, at) =>
      allocationRow(at, {
        ...row,
        nodeId: id(node),
        resources: { tasks: [{ task: 'main', cpuMhz: 200, memoryMb: 64 }], diskMb: 100, ports: [] },
        desiredStatus: isWanted ? 'run' : 'stop',
        health: isHealthy ? { healthy: true, timeMs: 1 } : null,
        modifyMs: 999_000,
      }),
    ),
  )

const worlds = fc
  .record({
    nodes,
    specs,
    allocations,
    isGone: fc.constantFrom(false, false, false, false, false, true),
  })
  .chain(({ specs: both, isGone, ...world }) => {
    const [before, after] = both
    const spec = after ?? before
    return fc.record({
      nodes: fc.constant(world.nodes),
      allocations: fc.constant(
        // Names of jobs that run on every node are all alike.
        spec?.Type === 'system' || spec?.Type === 'sysbatch'
          ? world.allocations.map((row) => ({ ...row, name: 'job.web[0]' }))
          : world.allocations,
      ),
      specs: fc.constant(both),
      job: fc.constant(spec === undefined || isGone ? null : scheduledJob(spec, { version: 1 })),
      seed: fc.nat(),
    })
  })

t.test('every decision keeps the rules', async (t) => {
  fc.assert(
    fc.property(worlds, (world: World) => {
      const broken = brokenRules(world, decide(world))
      if (broken.length > 0) throw new Error(broken.join('; '))
    }),
    { numRuns: amount('SCHEDULER_DECISIONS', { gate: 2_000, long: 200_000 }) },
  )
  t.pass('for all worlds')
})

/** What the plan is applied to, and what the agents make of it: what is to stop has ended, the rest runs and is healthy. */
function after(world: World, decision: Decision, round: number): World {
  const { allocations = [], job } = world
  const stops = [...decision.stop, ...decision.place.flatMap(({ stop }) => stop ?? [])]
  const byId = new Map(stops.map((stop) => [stop.id, stop]))
  const updated = new Set(decision.update.map(({ id }) => id))
  const rows = allocations.map((row): AllocationRow => {
    const stop = byId.get(row.id)
    const isOver = ['complete', 'failed', 'lost'].includes(row.clientStatus)
    if (stop === undefined) {
      const jobVersion = updated.has(row.id) ? (job?.version ?? 0) : row.jobVersion
      if (isOver || row.desiredStatus !== 'run') {
        return { ...row, clientStatus: isOver ? row.clientStatus : 'complete' }
      }
      return { ...row, jobVersion, clientStatus: 'running', health: { healthy: true, timeMs: 1 } }
    }
    return {
      ...row,
      desiredStatus: 'stop',
      desiredDescription: stop.desiredDescription,
      clientStatus: stop.lost ? 'lost' : isOver ? row.clientStatus : 'complete',
    }
  })
  const placed = decision.place.map(({ allocation }, at) => ({
    ...allocationRow(0),
    ...allocation,
    id: id(100_000 * (round + 1) + at),
  }))
  return { ...world, allocations: [...rows, ...placed] }
}

t.test('repeated, it comes to rest, and then the job is as wanted', async (t) => {
  fc.assert(
    fc.property(worlds, (start: World) => {
      let world = { ...start, nowMs: 10_000_000 }
      for (let round = 0; round < 30; round += 1) {
        const decision = decide(world)
        const broken = brokenRules(world, decision)
        if (broken.length > 0) throw new Error(`round ${round}: ${broken.join('; ')}`)
        const { stop, place, update } = decision
        if (stop.length + place.length + update.length === 0) return
        world = { ...world, ...after(world, decision, round) }
      }
      throw new Error('it goes on for ever')
    }),
    { numRuns: amount('SCHEDULER_ROUNDS', { gate: 500, long: 50_000 }) },
  )
  t.pass('for all worlds')
})
