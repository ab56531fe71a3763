/** Where one evaluation places allocations, and what it says of those that it cannot place. */
import t from 'tap'
import { dynamicPortMin } from '../../src/scheduler/ports.ts'
import {
  allocationRow,
  clusterOf,
  decide,
  driver,
  id,
  jobSpec,
  namesOf,
  nodeRow,
  scheduledJob,
} from './cluster.ts'
import type { Decision } from '../../src/scheduler/decision.ts'

function countsByNode({ place }: Decision): Readonly<Record<string, number>> {
  const byNode = Map.groupBy(place, ({ allocation }) => allocation.nodeName)
  return Object.fromEntries([...byNode].map(([name, some]) => [name, some.length] as const))
}

t.test('a job is placed on nodes that fit it, with the lowest names', async (t) => {
  const nodes = [
    nodeRow(1),
    nodeRow(2, { datacenter: 'dc2' }),
    nodeRow(3, { drivers: [driver('mock_driver', false)] }),
    nodeRow(4, {}, { eligible: false }),
    nodeRow(5, {}, { status: 'down' }),
  ]
  const decision = decide({ nodes, job: scheduledJob(jobSpec({}, { Count: 3 })) })
  t.same(namesOf(decision), ['job.web[0]', 'job.web[1]', 'job.web[2]'])
  t.same(countsByNode(decision), { n1: 3 })
  t.same(decision.queued, [['web', 0]])
  t.same(decision.failed, [])
  const [first] = decision.place
  t.match(first?.allocation, {
    jobVersion: 0,
    jobCreateIndex: 10,
    evalId: id(900),
    resources: { tasks: [{ task: 'main', cpuMhz: 500, memoryMb: 256 }], diskMb: 300, ports: [] },
  })
  t.same(first?.allocation.metrics.nodesAvailable, [['dc1', 2]])
})

t.test('datacenters of the job that have no node are named where there is no place', async (t) => {
  const long = 'x'.repeat(257)
  const Datacenters = ['dc1', 'dc2', 'dc3', 'dc*', 'dc2', long]
  const nodes = [nodeRow(1, { drivers: [] }), nodeRow(2, { datacenter: 'dc2' }, { status: 'down' })]
  const failed = (available: readonly ReturnType<typeof nodeRow>[]) =>
    decide({ nodes: available, job: scheduledJob(jobSpec({ Datacenters })) }).failed.map(
      ([, { nodesAvailable }]) => nodesAvailable,
    )
  t.same(failed(nodes), [
    [
      ['dc1', 1],
      ['dc2', 0],
      ['dc3', 0],
    ],
  ])
  const none = ['dc1', 'dc2', 'dc3'].map((name) => [name, 0])
  t.same(failed([]), [none])
  const placed = decide({ nodes: [nodeRow(1)], job: scheduledJob(jobSpec({ Datacenters })) })
  t.same(placed.place[0]?.allocation.metrics.nodesAvailable, [['dc1', 1]])
})

t.test('the same input gives the same plan, and another seed may give another', async (t) => {
  const nodes = Array.from({ length: 50 }, (_none, at) => nodeRow(at + 1))
  const job = scheduledJob(jobSpec({}, { Count: 5 }))
  t.same(decide({ nodes, job, seed: 3 }), decide({ nodes, job, seed: 3 }))
  const places = new Set(
    Array.from({ length: 10 }, (_none, seed) =>
      JSON.stringify(countsByNode(decide({ nodes, job, seed }))),
    ),
  )
  t.ok(places.size > 1)
})

t.test('the reason of each node that was left out is counted', async (t) => {
  const nodes = [
    nodeRow(1, { nodeClass: 'a', drivers: [] }),
    nodeRow(2, { nodeClass: 'b', attributes: [] }),
    nodeRow(3, { nodeClass: 'c' }),
  ]
  const constraint = { LTarget: '${attr.kernel.name}', Operand: '=', RTarget: 'linux' }
  const group = {
    Constraints: [constraint],
    Count: 2,
    Tasks: [{ Name: 'main', Driver: 'mock_driver', Resources: { CPU: 5_000, MemoryMB: 10 } }],
  }
  const decision = decide({ nodes, job: scheduledJob(jobSpec({}, group)) })
  t.same(decision.place, [])
  t.same(decision.queued, [['web', 2]])
  const [, metrics] = decision.failed[0] ?? []
  t.match(metrics, {
    nodesEvaluated: 3,
    nodesFiltered: 2,
    nodesExhausted: 1,
    dimensionExhausted: [['cpu', 1]],
    classExhausted: [['c', 1]],
    coalescedFailures: 1,
  })
  t.same(
    new Map(metrics?.constraintFiltered),
    new Map([
      ['missing drivers', 1],
      ['${attr.kernel.name} = linux', 1],
    ]),
  )
  t.same(
    new Map(decision.classes),
    new Map([
      ['v1:a', true],
      ['v1:b', false],
      ['v1:c', true],
    ]),
  )
  t.notOk(decision.escaped)
})

t.test('an agent that cannot read all of a job is not given it', async (t) => {
  const nodes = [nodeRow(1, { attributes: [] }), nodeRow(2)]
  const place = (Resources: object) => {
    const task = { Name: 'main', Driver: 'mock_driver', Resources }
    const group = { Count: 2, Tasks: [task], Constraints: [{ Operand: 'distinct_hosts' }] }
    return decide({ nodes, job: scheduledJob(jobSpec({}, group)) })
  }
  t.equal(place({ MemoryMB: 100 }).place.length, 2)
  const decision = place({ MemoryMB: 100, MemoryMaxMB: 200 })
  t.strictSame(
    decision.place.map(({ allocation }) => allocation.nodeId),
    [nodes[1]?.id],
  )
  const [, metrics] = decision.failed[0] ?? []
  t.equal(new Map(metrics?.constraintFiltered).get('older agent'), 1)
})

t.test('datacenters may be named by a pattern', async (t) => {
  const nodes = [nodeRow(1, { datacenter: 'eu-west' }), nodeRow(2, { datacenter: 'us-west' })]
  const at = (...Datacenters: string[]) =>
    countsByNode(decide({ nodes, job: scheduledJob(jobSpec({ Datacenters })) }))
  t.same(at('eu-*'), { n1: 1 })
  t.same(at('us*st'), { n2: 1 })
  t.same(at('eu-west-*'), {})
  t.same(Object.keys(at('*')).length, 1)
})

t.test('work is packed on the node that is fuller', async (t) => {
  const nodes = [nodeRow(1), nodeRow(2)]
  const other = allocationRow(1, { jobId: 'other', nodeId: id(2) })
  const cluster = clusterOf(nodes, [other])
  const decision = decide({ nodes, cluster, job: scheduledJob(jobSpec()) })
  t.same(countsByNode(decision), { n2: 1 })
})

t.test('allocations of one group avoid one another', async (t) => {
  const nodes = [nodeRow(1), nodeRow(2), nodeRow(3)]
  const decision = decide({ nodes, job: scheduledJob(jobSpec({}, { Count: 3 })) })
  t.same(countsByNode(decision), { n1: 1, n2: 1, n3: 1 })
})

t.test('distinct hosts and properties are kept, also to those that run', async (t) => {
  const nodes = [1, 2, 3, 4].map((number) =>
    nodeRow(number, { meta: [['rack', number < 3 ? 'a' : 'b']] }),
  )
  const allocations = [allocationRow(0)]
  const hosts = { Count: 5, Constraints: [{ Operand: 'distinct_hosts', LTarget: '', RTarget: '' }] }
  const spread = decide({ nodes, allocations, job: scheduledJob(jobSpec({}, hosts)) })
  t.same(countsByNode(spread), { n2: 1, n3: 1, n4: 1 })
  t.same(spread.queued, [['web', 1]])
  const racks = {
    Count: 4,
    Constraints: [{ Operand: 'distinct_property', LTarget: '${meta.rack}', RTarget: '' }],
  }
  const byRack = decide({ nodes, allocations, job: scheduledJob(jobSpec({}, racks)) })
  t.equal(byRack.place.length, 1)
  t.match(byRack.place[0]?.allocation.nodeName, /n[34]/)
  t.same(byRack.queued, [['web', 2]])
})

t.test('an affinity draws, one with a negative weight repels', async (t) => {
  const nodes = Array.from({ length: 20 }, (_none, at) =>
    nodeRow(at + 1, { meta: [['fast', at === 7 ? 'yes' : 'no']] }),
  )
  const affinity = (Weight: number) => ({
    Affinities: [{ LTarget: '${meta.fast}', Operand: '=', RTarget: 'yes', Weight }],
  })
  const drawn = decide({ nodes, job: scheduledJob(jobSpec({}, affinity(100))) })
  t.same(countsByNode(drawn), { n8: 1 })
  const repelled = decide({
    nodes: nodes.slice(7, 9),
    job: scheduledJob(jobSpec({}, affinity(-100))),
  })
  t.same(countsByNode(repelled), { n9: 1 })
})

t.test('a spread shares out as it is asked to', async (t) => {
  const nodes = Array.from({ length: 12 }, (_none, at) =>
    nodeRow(at + 1, { datacenter: at < 6 ? 'dc1' : 'dc2' }),
  )
  const counted = (SpreadTarget: { Value: string; Percent: number }[]) => {
    const spreads = [{ Attribute: '${node.datacenter}', Weight: 100, SpreadTarget }]
    const draft = { Datacenters: ['dc1', 'dc2'] }
    const job = scheduledJob(jobSpec(draft, { Count: 10, Spreads: spreads }))
    const { place } = decide({ nodes, job })
    const inFirst = place.filter(({ allocation }) => Number(allocation.nodeId.slice(-4)) <= 6)
    return [inFirst.length, place.length - inFirst.length]
  }
  t.same(counted([]), [5, 5])
  t.same(
    counted([
      { Value: 'dc1', Percent: 70 },
      { Value: 'dc2', Percent: 30 },
    ]),
    [7, 3],
  )
  t.same(counted([{ Value: 'dc1', Percent: 80 }]), [8, 2])
})

t.test('ports of the host are given once', async (t) => {
  const nodes = [nodeRow(1, { reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '80,90-92' } })]
  const network = (ReservedPorts: unknown[], DynamicPorts: unknown[] = []) => ({
    Count: 2,
    Networks: [{ ReservedPorts, DynamicPorts }],
  })
  const fixed = decide({
    nodes,
    job: scheduledJob(jobSpec({}, network([{ Label: 'http', Value: 8080 }]))),
  })
  t.equal(fixed.place.length, 1)
  t.same(fixed.place[0]?.allocation.resources.ports, [
    { label: 'http', value: 8080, to: 0, address: '10.0.0.1' },
  ])
  t.same(fixed.failed[0]?.[1].dimensionExhausted, [
    ['network: reserved port collision http=8080', 1],
  ])
  const reserved = decide({
    nodes,
    job: scheduledJob(jobSpec({}, network([{ Label: 'http', Value: 91 }]))),
  })
  t.equal(reserved.place.length, 0)
  const dynamic = decide({
    nodes,
    job: scheduledJob(jobSpec({}, network([], [{ Label: 'a', To: -1 }, { Label: 'b' }]))),
  })
  const ports = dynamic.place.flatMap(({ allocation }) => allocation.resources.ports)
  t.equal(new Set(ports.map(({ value }) => value)).size, 4)
  t.ok(ports.every(({ value }) => value >= dynamicPortMin))
  t.ok(ports.every(({ label, value, to }) => to === (label === 'a' ? value : 0)))
})

t.test('where all is to be placed at once nothing is unless all is', async (t) => {
  const group = {
    Count: 2,
    Tasks: [{ Name: 'main', Driver: 'mock_driver', Resources: { CPU: 3_000, MemoryMB: 10 } }],
  }
  const nodes = [nodeRow(1)]
  const some = decide({ nodes, job: scheduledJob(jobSpec({}, group)) })
  t.equal(some.place.length, 1)
  const none = decide({ nodes, job: scheduledJob(jobSpec({ AllAtOnce: true }, group)) })
  t.equal(none.place.length, 0)
  t.same(none.queued, [['web', 2]])
})
