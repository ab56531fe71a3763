/** Deployments of jobs that run on every node that they fit. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import type { DeploymentRow, GroupState } from '../../src/domains/deployments/model.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import { reasons } from '../../src/scheduler/reconcile.ts'
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
import { deploymentRow } from './worlds.ts'

const five = [1, 2, 3, 4, 5].map((number) => nodeRow(number))

const spec = (update: object, version: number, more: object = {}) =>
  jobSpec(
    { Type: 'system', Meta: { version: String(version) }, ...more },
    { Update: { MaxParallel: 1, ...update } },
  )

/** Version 1 of a job is newer than what its nodes run. */
function updating(update: object, about: Partial<World> = {}): World {
  const specs = [spec(update, 0), spec(update, 1)]
  const job = scheduledJob(spec(update, 1), { version: 1 })
  return { nodes: five, specs, job, allocations: [1, 2, 3, 4, 5].map((at) => on(at)), ...about }
}

const deploymentId = id(800)

/** On a node; of the older version, unless said. */
function on(node: number, about: Partial<AllocationRow> = {}): AllocationRow {
  return allocationRow(node, { index: 0, nodeId: id(node), ...about })
}

const newest = { jobVersion: 1, deploymentId }
const canary = { ...newest, canary: true as const }
const unjudged = { health: null }
const bad = { health: { healthy: false, timeMs: 1 } }

function underWay(
  state: Partial<GroupState> = {},
  status: DeploymentRow['status'] = 'running',
): DeploymentRow {
  const row = deploymentRow({ jobVersion: 1, status, desiredCanaries: 0, promoted: false })
  return { ...row, groups: row.groups.map((group) => ({ ...group, desiredTotal: 5, ...state })) }
}

const trying = (canaries: number, status?: DeploymentRow['status']) =>
  underWay({ desiredCanaries: canaries }, status)

/** Node and version of what is placed; a canary has a star. */
function placed({ place }: Decision): readonly string[] {
  return place.map(({ allocation: { nodeId, jobVersion, canary } }) => {
    return `${Number(nodeId.slice(-3))} v${jobVersion}${canary === true ? '*' : ''}`
  })
}

t.test('the first version is deployed to every node that can run it', async (t) => {
  const nodes = [...five, nodeRow(6, { drivers: [driver('mock_driver', false)] })]
  const job = scheduledJob(spec({}, 0))
  const { deployment, place } = decide({ nodes, job })
  t.match(deployment.create?.groups, [{ group: 'web', desiredTotal: 5, desiredCanaries: 0 }])
  t.equal(place.length, 5)
  t.ok(place.every(({ allocation }) => allocation.deploymentId === deployment.create?.id))
  const unlimited = scheduledJob(spec({ MaxParallel: 0 }, 0))
  t.equal(decide({ nodes, job: unlimited }).deployment.create, null)
  t.equal(decide({ nodes: [], job }).deployment.create, null, 'no node, nothing to lead')
  const sysbatch = scheduledJob(jobSpec({ Type: 'sysbatch' }))
  t.equal(decide({ nodes, job: sysbatch }).deployment.create, null)
})

t.test('while a server has an older program, an update goes without a deployment', async (t) => {
  const world = updating({ Canary: 34 }, { deploysSystemJobs: false })
  const { deployment, place } = decide(world)
  t.same(deployment, { create: null, resize: null, ends: [] })
  t.match(place, [{ allocation: { jobVersion: 1, deploymentId: undefined, canary: undefined } }])
  // What was placed so would never count in one.
  const allocations = [on(1, { jobVersion: 1 }), ...[2, 3, 4, 5].map((at) => on(at))]
  const later = decide({ ...world, allocations, deploysSystemJobs: true })
  t.equal(later.deployment.create, null)
  t.same(placed(later), ['2 v1'])
})

t.test(
  'canaries are a share of the nodes, rounded up, and come max_parallel at a time',
  async (t) => {
    const first = decide(updating({ Canary: 34, MaxParallel: 1 }))
    t.match(first.deployment.create?.groups, [{ desiredTotal: 5, desiredCanaries: 2 }])
    t.same(placed(first), ['1 v1*'])
    t.equal(first.place[0]?.stop?.desiredDescription, reasons.updated, 'it takes the place there')
    t.same(placed(decide(updating({ Canary: 34, MaxParallel: 3 }))), ['1 v1*', '2 v1*'])
    t.match(decide(updating({ Canary: 1 })).deployment.create?.groups, [{ desiredCanaries: 1 }])
    t.match(decide(updating({ Canary: 100 })).deployment.create?.groups, [{ desiredCanaries: 5 }])

    const rest = [2, 3, 4, 5].map((at) => on(at))
    const next = (first: AllocationRow) =>
      placed(
        decide(updating({ Canary: 34 }, { deployment: trying(2), allocations: [first, ...rest] })),
      )
    t.same(next(on(1, { ...canary, ...unjudged })), [], 'the first is not healthy yet')
    t.same(next(on(1, { ...canary, ...bad })), [])
    t.same(next(on(1, canary)), ['2 v1*'])
    t.same(next(on(1, { ...canary, clientStatus: 'failed' })), ['1 v1*'], 'it is tried again')
  },
)

t.test('canaries go where canaries were, but first where nothing is healthy', async (t) => {
  const allocations = [on(1), on(2), on(3, { canary: true }), on(4, bad), on(5)]
  const world = updating({ Canary: 34, MaxParallel: 5 }, { allocations })
  t.same(placed(decide(world)), ['4 v1*', '3 v1*'])
})

t.test('nothing else is replaced until they are promoted', async (t) => {
  const allocations = [on(1, canary), on(2, canary), on(3), on(4), on(5)]
  const about = { allocations, deployment: trying(2) }
  const waiting = decide(updating({ Canary: 34, MaxParallel: 5 }, about))
  t.same([placed(waiting), waiting.stop, waiting.deployment], [[], [], nothing])
  const promoted = underWay({ desiredCanaries: 2, promoted: true })
  const goesOn = decide(
    updating({ Canary: 34, MaxParallel: 2 }, { ...about, deployment: promoted }),
  )
  t.same(placed(goesOn), ['3 v1', '4 v1'])
  t.same(goesOn.deployment, nothing)
})

const nothing = { create: null, resize: null, ends: [] }

t.test('while they are tried, other nodes get the older version', async (t) => {
  const nodes = [...five, nodeRow(6), nodeRow(7)]
  const allocations = [
    on(1, canary),
    on(2, canary),
    on(3, { clientStatus: 'failed' }),
    on(4, { migrate: true }),
    on(5),
  ]
  const world = updating({ Canary: 28 }, { nodes, allocations, deployment: trying(2) })
  const decision = decide(world)
  t.same(placed(decision), ['3 v0', '4 v0', '6 v0', '7 v0'])
  t.ok(decision.place.every(({ allocation }) => allocation.deploymentId === undefined))
  t.match(decision.deployment.resize, { id: deploymentId, groups: [{ desiredTotal: 7 }] })
  const failed = decide({ ...world, triggeredBy: 'alloc-failure' })
  t.same(placed(failed), ['4 v0', '6 v0', '7 v0'], 'not because it failed')

  const [before, after] = [spec({}, 0, { Constraints: onLinux('5') }), spec({ Canary: 28 }, 1)]
  const wider = { ...world, specs: [before, after], job: scheduledJob(after, { version: 1 }) }
  t.same(placed(decide(wider)), [], 'where the older one cannot run, nothing')
})

function onLinux(version: string) {
  return [{ LTarget: '${attr.kernel.version}', Operand: '=', RTarget: version }]
}

t.test('a canary whose node is lost is made up for, or fewer are wanted', async (t) => {
  const [gone, ...others] = five
  const nodes = [{ ...(gone ?? nodeRow(1)), status: 'down' as const }, ...others]
  const allocations = [on(1, canary), on(2, canary), on(3), on(4), on(5)]
  const about = { nodes, allocations, deployment: trying(2) }
  const another = decide(updating({ Canary: 34 }, about))
  t.same(placed(another), ['3 v1*'])
  t.match(another.deployment.resize?.groups, [{ desiredTotal: 4, desiredCanaries: 2 }])
  const fewer = decide(updating({ Canary: 25 }, about))
  t.same(placed(fewer), [])
  t.match(fewer.deployment.resize?.groups, [{ desiredTotal: 4, desiredCanaries: 1 }])
  const none = decide(updating({ Canary: 34 }, { ...about, nodes: [] }))
  t.match(none.deployment.resize?.groups, [{ desiredTotal: 0, desiredCanaries: 1 }])
  t.same(none.deployment.ends, [], 'and none is not a promotion, nor a success')
})

t.test('one that is cut off is not waited for', async (t) => {
  const update = { MaxParallel: 1 }
  const [before, after] = [0, 1].map((version) =>
    jobSpec(
      { Type: 'system', Meta: { version: String(version) } },
      { Update: update, MaxClientDisconnect: 600e9 },
    ),
  )
  if (before === undefined || after === undefined) return
  const nodes = five.map((node, at) =>
    at === 0 ? { ...node, status: 'disconnected' as const, statusUpdatedMs: 999_000 } : node,
  )
  const allocations = [1, 2, 3, 4, 5].map((at) => on(at, newest))
  const job = scheduledJob(after, { version: 1 })
  const world = { nodes, job, specs: [before, after], allocations, deployment: underWay() }
  const { deployment, unknown } = decide(world)
  t.same(unknown, [allocations[0]?.id])
  t.match(deployment.resize?.groups, [{ desiredTotal: 4 }])
  t.match(deployment.ends, [{ status: 'successful' }])
})

t.test('it is over once all nodes have the newest version, healthy', async (t) => {
  const all = [1, 2, 3, 4, 5].map((at) => on(at, newest))
  const ends = (allocations: readonly AllocationRow[], about: Partial<World> = {}) => {
    const world = updating({}, { allocations, deployment: underWay(), ...about })
    return decide(world).deployment.ends.map(({ status }) => status)
  }
  t.same(ends(all), ['successful'])
  t.same(ends([...all.slice(1), on(1, { ...newest, ...unjudged })]), [])
  t.same(ends(all.slice(1)), [], 'one is to be placed')
  t.same(ends([on(1), ...all.slice(1)]), [], 'one is of the older version')
  t.same(ends(all, { deployment: underWay({}, 'paused') }), [])
  const failed = on(1, { ...newest, clientStatus: 'failed' })
  t.same(ends([failed, ...all.slice(1)], { triggeredBy: 'alloc-failure' }), [])

  // Of nodes that take no work now: what is new counts, what is older is not waited for.
  const [first = nodeRow(1), ...others] = five
  const nodes = [{ ...first, eligible: false }, ...others]
  t.same(ends(all, { nodes }), ['successful'])
  t.same(ends([on(1), ...all.slice(1)], { nodes }), ['successful'])
})

t.test('a node without room is waited for only where it runs an older version', async (t) => {
  const small = { cpuMhz: 600, memoryMb: 8_000, diskMb: 9_000, networks: [], nodeNetworks: [] }
  const full = nodeRow(6, { resources: { ...small, cpuMhz: 100 } })
  const all = [1, 2, 3, 4, 5].map((at) => on(at, newest))
  const world = updating({}, { allocations: all, deployment: underWay() })
  const done = decide({ ...world, nodes: [...five, full] })
  t.match(done.deployment, { resize: null, ends: [{ status: 'successful' }] })
  t.same(done.queued, [['web', 1]], 'it has none, and waits for room')

  const larger = jobSpec(
    { Type: 'system' },
    {
      Update: { MaxParallel: 1 },
      Tasks: [{ Name: 'main', Driver: 'mock_driver', Resources: { CPU: 800, MemoryMB: 256 } }],
    },
  )
  const job = scheduledJob(larger, { version: 1 })
  const nodes = [...five.slice(1), nodeRow(1, { resources: small })]
  const allocations = [on(1), ...all.slice(1)]
  const stuck = decide({ ...world, job, specs: [spec({}, 0), larger], nodes, allocations })
  t.same(stuck.deployment, nothing)
})

t.test(
  'a failure stops an update, and a newer version or the end of the job cancels it',
  async (t) => {
    const rest = [2, 3, 4, 5].map((at) => on(at))
    const after = (first: AllocationRow, triggeredBy: NonNullable<World['triggeredBy']>) => {
      const allocations = [first, ...rest]
      return placed(decide(updating({}, { allocations, deployment: underWay(), triggeredBy })))
    }
    t.same(after(on(1, { ...newest, clientStatus: 'failed' }), 'alloc-failure'), [])
    t.same(after(on(1, { ...newest, clientStatus: 'failed' }), 'deployment-watcher'), [])
    t.same(after(on(1, { ...newest, ...bad }), 'deployment-watcher'), [])
    t.same(after(on(1, newest), 'deployment-watcher'), ['2 v1'])
    const world = updating({}, { deployment: underWay() })
    const job = world.job ?? scheduledJob(spec({}, 1))
    const cancelled = [{ status: 'cancelled' }]
    t.match(decide({ ...world, job: { ...job, version: 2 } }).deployment.ends, cancelled)
    t.match(decide({ ...world, job: { ...job, stop: true } }).deployment.ends, cancelled)
  },
)

t.test(
  'once it failed, what runs stays, and what is missing comes without more canaries',
  async (t) => {
    const nodes = [...five, nodeRow(6)]
    const allocations = [
      on(1, { ...canary, ...bad }),
      on(2, { ...canary, ...bad, clientStatus: 'failed' }),
      on(3),
      on(4),
      on(5),
    ]
    const about = { nodes, allocations, triggeredBy: 'deployment-watcher' as const }
    const world = updating(
      { Canary: 34, MaxParallel: 5 },
      { ...about, deployment: trying(3, 'failed') },
    )
    const decision = decide(world)
    t.same(decision.stop, [])
    t.same(placed(decision), ['2 v0', '6 v0'], 'also where a canary ended')
    const promoted = underWay({ desiredCanaries: 2, promoted: true }, 'failed')
    t.same(
      placed(decide({ ...world, deployment: promoted })),
      ['6 v1'],
      'what failed is left alone',
    )
    const again = decide({ ...world, deployment: promoted, triggeredBy: 'node-update' })
    t.same(placed(again), ['2 v1', '6 v1'])
  },
)

t.test('while it is paused, what is missing comes, and nothing is replaced', async (t) => {
  const allocations = [on(1, canary), ...[3, 4, 5].map((at) => on(at))]
  const world = updating({ Canary: 34, MaxParallel: 5 }, { allocations })
  t.same(placed(decide({ ...world, deployment: trying(2, 'paused') })), ['2 v0'])
  const promoted = underWay({ desiredCanaries: 2, promoted: true }, 'paused')
  t.same(placed(decide({ ...world, deployment: promoted })), ['2 v1'])
})

t.test(
  'a node that was emptied for the update is waited for, and gets what it was emptied for',
  async (t) => {
    const resources = {
      cpuMhz: 600,
      memoryMb: 8_000,
      diskMb: 9_000,
      networks: [],
      nodeNetworks: [],
    }
    const nodes = [1, 2].map((number) => nodeRow(number, { resources }))
    const first = decide(updating({ Canary: 50 }, { nodes, allocations: [on(1), on(2)] }))
    t.match(first.stop, [{ id: on(1).id, desiredDescription: reasons.updated }])
    t.same([placed(first), first.queued], [[], [['web', 1]]])
    t.match(first.deployment.create?.groups, [{ desiredTotal: 2, desiredCanaries: 1 }])

    const leaving = on(1, { desiredStatus: 'stop', desiredDescription: reasons.updated })
    const about = { nodes, deployment: underWay({ desiredTotal: 2, desiredCanaries: 1 }) }
    const between = decide(updating({ Canary: 50 }, { ...about, allocations: [leaving, on(2)] }))
    t.same([between.stop, placed(between), between.deployment], [[], [], nothing])
    const ended = { ...leaving, clientStatus: 'complete' as const }
    const last = decide(updating({ Canary: 50 }, { ...about, allocations: [ended, on(2)] }))
    t.same(placed(last), ['1 v1*'])
    t.equal(last.place[0]?.allocation.previous, leaving.id)
  },
)

t.test('a version has one deployment', async (t) => {
  const allocations = [...[1, 2, 3, 4].map((at) => on(at, newest)), on(5)]
  const deployment = underWay({}, 'successful')
  const late = decide(updating({ Canary: 34 }, { allocations, deployment }))
  t.same(late.deployment, nothing)
  t.same(placed(late), ['5 v1'], 'a node that is back late follows without one')
})

t.test('what a change leaves in its place counts at once', async (t) => {
  const [before, after] = [spec({ Canary: 34 }, 0), spec({ Canary: 34 }, 0, { Priority: 70 })]
  const job = scheduledJob(after, { version: 1 })
  const { deployment, update, place } = decide({ ...updating({}), job, specs: [before, after] })
  t.match(deployment.create?.groups, [{ desiredTotal: 5, desiredCanaries: 0 }])
  t.ok(update.every((one) => one.deploymentId === deployment.create?.id))
  t.same([update.length, place.length], [5, 0])
})
