/** Which work of lower priority gives its place to a job that finds none. */
import t from 'tap'
import type { OtherWork } from '../../src/scheduler/preempt.ts'
import type { Decision } from '../../src/scheduler/decision.ts'
import {
  allocationRow,
  clusterOf,
  decide,
  id,
  jobSpec,
  nodeRow,
  scheduledJob,
  type World,
} from './cluster.ts'

const all = { service: true, batch: true, system: true, sysbatch: true }

type Running = Partial<OtherWork> & {
  readonly node?: number
  readonly cpu?: number
  readonly memory?: number
  readonly ports?: readonly number[]
}

/** A cluster where these run; those of a number are allocation `id(2000 + number)`. */
function running(
  nodes: number,
  work: readonly Running[],
): Pick<World, 'nodes' | 'cluster' | 'workOn'> {
  const rows = Array.from({ length: nodes }, (_none, at) => nodeRow(at + 1))
  const others = work.map(({ node = 1, cpu = 500, memory = 256, ports = [], ...more }, at) => {
    const resources: OtherWork['resources'] = {
      tasks: [{ task: 'main', cpuMhz: cpu, memoryMb: memory }],
      diskMb: 0,
      ports: ports.map((value) => ({ label: 'p', value, to: 0, address: '10.0.0.1' })),
    }
    const about = { id: id(2_000 + at), group: `other ${at}`, priority: 20, movesMax: 1 }
    return { node: id(node), work: { ...about, resources, ...more } }
  })
  const allocations = others.map(({ node, work }, at) =>
    allocationRow(at, { id: work.id, nodeId: node, jobId: 'other', resources: work.resources }),
  )
  return {
    nodes: rows,
    cluster: clusterOf(rows, allocations),
    workOn: (nodeId) => others.flatMap(({ node, work }) => (node === nodeId ? [work] : [])),
  }
}

function wants(cpu: number, group: Record<string, unknown> = {}, priority = 60, type = 'service') {
  const task = { Name: 'main', Driver: 'mock_driver', Resources: { CPU: cpu, MemoryMB: 256 } }
  const some = { Name: 'web', Tasks: [task], ...group }
  return scheduledJob(jobSpec({ Priority: priority, Type: type, TaskGroups: [some] }))
}

function victims({ place }: Decision): readonly (readonly number[])[] {
  return place.map(({ allocation: { preempts = [] } }) =>
    preempts.map((one) => Number(one.slice(-12)) - 2_000),
  )
}

const settings = { preemption: all }

t.test('only where there is no room, and only for types of jobs that may', (t) => {
  const full = running(1, [{ cpu: 3_800 }])
  t.same(victims(decide({ ...full, job: wants(500), settings })), [[0]])
  t.match(decide({ ...full, job: wants(500) }), { place: [], queued: [['web', 1]] })
  const system = wants(500, {}, 60, 'system')
  t.same(
    victims(decide({ ...full, job: system })),
    [[0]],
    'system jobs may unless they are told not to',
  )
  const none = { preemption: { ...all, system: false } }
  t.same(decide({ ...full, job: system, settings: none }).place, [])
  const free = running(2, [{ cpu: 3_800 }])
  t.same(victims(decide({ ...free, job: wants(500), settings })), [[]])
  t.end()
})

t.test('the lowest priority goes first, and none that is less than ten below', (t) => {
  const several = running(1, [
    { priority: 40, cpu: 1_300 },
    { priority: 20, cpu: 1_300 },
    { priority: 51, cpu: 1_300 },
  ])
  t.same(victims(decide({ ...several, job: wants(1_000), settings })), [[1]])
  t.same(victims(decide({ ...several, job: wants(2_500), settings })), [[1, 0]])
  t.match(decide({ ...several, job: wants(3_000), settings }), {
    place: [],
    failed: [['web', { dimensionExhausted: [['cpu', 1]] }]],
  })
  t.same(victims(decide({ ...several, job: wants(3_000, {}, 61), settings })), [[1, 0, 2]])
  t.end()
})

t.test('what fits best ends, and nothing that need not', (t) => {
  const sizes = running(1, [{ cpu: 2_000 }, { cpu: 900 }, { cpu: 1_000 }])
  t.same(victims(decide({ ...sizes, job: wants(1_000), settings })), [[1]], '100 MHz were free')
  const mixed = running(1, [
    { cpu: 300, priority: 10 },
    { cpu: 3_600, priority: 30 },
  ])
  t.same(victims(decide({ ...mixed, job: wants(3_000), settings })), [[1]], 'the small one stays')
  t.end()
})

t.test('a port is taken from the one that has it', (t) => {
  const group = { Networks: [{ ReservedPorts: [{ Label: 'http', Value: 80 }] }] }
  const held = running(1, [{ ports: [81], priority: 1 }, { ports: [80] }])
  t.same(victims(decide({ ...held, job: wants(100, group), settings })), [[1]])
  const higher = running(1, [{ ports: [80], priority: 59 }])
  t.same(decide({ ...higher, job: wants(100, group), settings }).place, [])
  t.end()
})

t.test('of the nodes, the one where what ends matters least', (t) => {
  const three = running(3, [
    { node: 1, cpu: 3_900, priority: 40 },
    { node: 2, cpu: 3_900, priority: 20 },
    { node: 3, cpu: 3_900, priority: 45 },
  ])
  for (const seed of [1, 2, 3, 4]) {
    const decision = decide({ ...three, job: wants(1_000), settings, seed })
    t.same(victims(decision), [[1]])
    const [first] = decision.place
    t.ok(first?.allocation.metrics.scores.some(([, name]) => name === 'preemption'))
  }
  t.end()
})

t.test('one ends for one alone, and groups that may move one by one are spared', (t) => {
  const two = running(1, [{ cpu: 2_000 }, { cpu: 2_000 }])
  const both = decide({ ...two, job: wants(1_500, { Count: 3 }), settings })
  t.same(victims(both), [[0], [1]])
  t.same(both.queued, [['web', 1]])
  const grouped = running(1, [
    { cpu: 1_300, group: 'same' },
    { cpu: 1_300, group: 'same' },
    { cpu: 1_400, group: 'lone' },
  ])
  t.same(victims(decide({ ...grouped, job: wants(2_700), settings })), [[2, 0]])
  t.end()
})

t.test('one that is replaced waits for its own place first', (t) => {
  const full = running(1, [{ cpu: 3_500 }])
  const old = allocationRow(1, { jobVersion: 0 })
  const nodes = [nodeRow(1)]
  const others = allocationRow(0, {
    id: id(2_000),
    jobId: 'other',
    resources: { tasks: [{ task: 'main', cpuMhz: 3_500, memoryMb: 256 }], diskMb: 0, ports: [] },
  })
  const before = jobSpec({ Priority: 60 }, { Count: 1 })
  const [group] = before.TaskGroups
  const [task] = group?.Tasks ?? []
  const changed = jobSpec(
    { Priority: 60 },
    {
      Count: 1,
      Tasks: [
        {
          Name: 'main',
          Driver: 'mock_driver',
          Env: { A: '1' },
          Resources: { CPU: 500, MemoryMB: 256 },
        },
      ],
    },
  )
  t.ok(task)
  const decision = decide({
    ...full,
    nodes,
    cluster: clusterOf(nodes, [old, others]),
    job: scheduledJob(changed, { version: 1 }),
    allocations: [{ ...old, name: 'job.web[0]' }],
    specs: [before],
    settings,
  })
  t.same(decision.place, [])
  t.match(decision.stop, [{ id: old.id, desiredStatus: 'stop' }])
  t.end()
})

t.test('spread prefers the emptiest node', (t) => {
  const nodes = [nodeRow(1), nodeRow(2)]
  const cluster = clusterOf(nodes, [allocationRow(1, { jobId: 'other' })])
  const on = (algorithm: 'binpack' | 'spread') =>
    decide({ nodes, cluster, job: wants(500), settings: { algorithm } }).place[0]?.allocation
      .nodeName
  t.equal(on('binpack'), 'n1')
  t.equal(on('spread'), 'n2')
  t.end()
})
