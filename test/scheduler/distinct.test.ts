/** `distinct_hosts` and `distinct_property` while a job is updated and loses allocations at the same time. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { JobSpec } from '../../src/domains/jobs/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
import { amount } from '../support/randomness.ts'
import fc from '../support/fast-check.ts'
import {
  allocationRow,
  decide,
  id,
  jobSpec,
  namesOf,
  nodeRow,
  scheduledJob,
  type World,
} from './cluster.ts'

const distinctHosts = { Operand: 'distinct_hosts', LTarget: '', RTarget: 'true' }

const harm = {
  failed: { clientStatus: 'failed' },
  draining: { migrate: true },
  lost: {},
} as const

for (const [name, about] of Object.entries(harm)) {
  t.test(`one that is ${name} does not take the host of one that is to be updated`, async (t) => {
    const group = { Count: 2, Constraints: [distinctHosts], Update: { MaxParallel: 1 } }
    const specs = [jobSpec({}, group), jobSpec({ Meta: { a: 'b' } }, group)]
    const [, after] = specs
    if (after === undefined) throw new Error('there are two')
    const gone = nodeRow(2, {}, name === 'lost' ? { status: 'down' } : { eligible: false })
    const world: World = {
      nodes: [nodeRow(1), gone],
      job: scheduledJob(after, { version: 1 }),
      specs,
      allocations: [
        allocationRow(0),
        allocationRow(1, { nodeId: id(2), ...about, modifyMs: 999_000 }),
      ],
    }
    const decision = decide(world)
    t.same(crowded(world, decision), [])
    t.same(namesOf(decision), ['job.web[0]'])
    t.match(decision.place, [{ stop: { id: id(1_000), desiredDescription: reasons.updated } }])
    t.same(decision.queued, [['web', 1]])
  })
}

t.test('two that wait for the end of others do not wait for one host', async (t) => {
  const task = (Env: Record<string, string>) => ({
    Count: 2,
    Constraints: [distinctHosts],
    Update: { MaxParallel: 0 },
    Tasks: [{ Name: 'main', Driver: 'mock_driver', Env, Resources: { CPU: 2_500, MemoryMB: 10 } }],
  })
  const specs = [jobSpec({}, task({})), jobSpec({}, task({ A: '1' }))]
  const [, after] = specs
  if (after === undefined) throw new Error('there are two')
  const taking = (cpuMhz: number) => ({
    resources: { tasks: [{ task: 'main', cpuMhz, memoryMb: 10 }], diskMb: 1, ports: [] },
  })
  const resources = { cpuMhz: 5_000, memoryMb: 100, diskMb: 1_000, networks: [], nodeNetworks: [] }
  const decision = decide({
    nodes: [nodeRow(1, { resources }), nodeRow(2, {}, { eligible: false })],
    job: scheduledJob(after, { version: 1 }),
    specs,
    allocations: [
      allocationRow(0, taking(2_500)),
      allocationRow(1, { ...taking(2_500), nodeId: id(2) }),
      allocationRow(2, { ...taking(1_500), group: 'gone', name: 'job.gone[0]' }),
    ],
  })
  // There is a host for one of them: the other goes on.
  t.same(
    decision.stop.map(({ id, desiredDescription }) => [id, desiredDescription]),
    [
      [id(1_002), reasons.notNeeded],
      [id(1_000), reasons.updated],
    ],
  )
  t.same([decision.place, decision.queued], [[], [['web', 2]]])
})

/** Jobs of two groups that keep the constraint, as they are updated: each allocation is well, failed, to move, or on a lost node. */
const updates = fc
  .record({
    kind: fc.constantFrom('hosts', 'property', 'pairs'),
    isOfJob: fc.boolean(),
    maxParallel: fc.integer({ min: 0, max: 3 }),
    canary: fc.constantFrom(0, 0, 1),
    counts: fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 3 })),
    changed: fc.constantFrom('both', 'web'),
    nodes: fc.array(
      fc.record({
        disk: fc.constantFrom('a', 'b', 'c', 'd'),
        cpuMhz: fc.constantFrom(600, 1_000, 4_000),
        state: fc.constantFrom('ready', 'ready', 'ready', 'down', 'ineligible'),
      }),
      { minLength: 1, maxLength: 6 },
    ),
    rows: fc.array(
      fc.record({
        node: fc.nat({ max: 5 }),
        group: fc.constantFrom('web', 'web', 'api'),
        state: fc.constantFrom('well', 'well', 'well', 'failed', 'moves'),
      }),
      { maxLength: 8 },
    ),
    seed: fc.nat(),
  })
  .map(
    ({ kind, isOfJob, maxParallel, canary, counts, changed, nodes: drawn, rows, seed }): World => {
      const constraint =
        kind === 'hosts'
          ? distinctHosts
          : {
              Operand: 'distinct_property',
              LTarget: '${meta.disk}',
              RTarget: kind === 'pairs' ? '2' : '',
            }
      const spec = (version: number): JobSpec =>
        jobSpec({
          Constraints: isOfJob ? [constraint] : [],
          TaskGroups: ['web', 'api'].map((Name, at) => ({
            Name,
            Count: counts[at] ?? 0,
            Constraints: isOfJob ? [] : [constraint],
            Update: { MaxParallel: maxParallel, Canary: canary },
            Meta: changed === 'both' || Name === changed ? { version: String(version) } : {},
            Tasks: [{ Name: 'main', Driver: 'mock_driver', Resources: { CPU: 500, MemoryMB: 64 } }],
          })),
        })
      const nodes = drawn.map(({ disk, cpuMhz, state }, at) =>
        nodeRow(
          at + 1,
          {
            meta: [['disk', disk]],
            resources: { cpuMhz, memoryMb: 8_000, diskMb: 90_000, networks: [], nodeNetworks: [] },
          },
          { status: state === 'down' ? 'down' : 'ready', eligible: state !== 'ineligible' },
        ),
      )
      const indexes = { web: 0, api: 0 }
      const allocations: AllocationRow[] = []
      for (const [at, { node, group, state }] of rows.entries()) {
        const on = nodes[node]
        if (on === undefined) continue
        const row = allocationRow(at, {
          group,
          name: `job.${group}[${indexes[group]}]`,
          nodeId: on.id,
          ...(state === 'failed' && { clientStatus: 'failed' }),
          migrate: state === 'moves',
          modifyMs: 999_000,
        })
        const world = { nodes, allocations: [...allocations, row], job: scheduledJob(spec(0)) }
        if (crowded(world, { stop: [], place: [] }).length > 0) continue
        indexes[group] += 1
        allocations.push(row)
      }
      const job = scheduledJob(spec(1), { version: 1 })
      return { nodes, allocations, job, specs: [spec(0), spec(1)], seed }
    },
  )

/** What runs, stays or comes where the constraint allows no more of it. */
function crowded(
  { nodes, allocations = [], job }: World,
  { stop, place }: Pick<Decision, 'stop' | 'place'>,
): readonly string[] {
  const gone = new Set(
    [...stop, ...place.flatMap((placed) => placed.stop ?? [])].map((one) => one.id),
  )
  const down = new Set(nodes.flatMap((node) => (node.status === 'down' ? [node.id] : [])))
  const live = [
    ...allocations.filter(
      ({ id, nodeId, clientStatus }) =>
        clientStatus === 'running' && !gone.has(id) && !down.has(nodeId),
    ),
    ...place.map(({ allocation }) => allocation),
  ]
  const disks = new Map(nodes.map(({ id, spec }) => [id, spec.meta[0]?.[1] ?? '']))
  const scoped = [
    ...(job?.spec.Constraints ?? []).map((constraint) => ({ constraint, rows: live })),
    ...(job?.spec.TaskGroups ?? []).flatMap(({ Name, Constraints }) =>
      Constraints.map((constraint) => ({
        constraint,
        rows: live.filter(({ group }) => group === Name),
      })),
    ),
  ]
  return scoped.flatMap(({ constraint, rows }) => {
    const isOfHosts = constraint.Operand === 'distinct_hosts'
    const most = isOfHosts || constraint.RTarget === '' ? 1 : Number(constraint.RTarget)
    const places = Map.groupBy(rows, ({ nodeId }) => (isOfHosts ? nodeId : disks.get(nodeId)))
    return [...places].flatMap(([where, here]) =>
      here.length > most ? [`${here.map(({ name }) => name).join()} on ${where}`] : [],
    )
  })
}

t.test('no update brings two to one host or value, whatever fails beside it', async (t) => {
  fc.assert(
    fc.property(updates, (world) => {
      const broken = crowded(world, decide(world))
      if (broken.length > 0) throw new Error(broken.join('; '))
    }),
    { numRuns: amount('SCHEDULER_DISTINCT', { gate: 1_000, long: 30_000 }) },
  )
  t.pass('for all worlds')
})
