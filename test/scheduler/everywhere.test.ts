/** Jobs that run on every node that they fit. */
import t from 'tap'
import { reasons } from '../../src/scheduler/reconcile.ts'
import { deadTask } from '../support/dead-task.ts'
import { allocationRow, decide, driver, id, jobSpec, nodeRow, scheduledJob } from './cluster.ts'

const system = jobSpec({ Type: 'system' })

t.test('a system job runs once on each ready node that fits it', async (t) => {
  const nodes = [
    nodeRow(1),
    nodeRow(2),
    nodeRow(3, { drivers: [driver('mock_driver', false)] }),
    nodeRow(4, {}, { eligible: false }),
    nodeRow(5, { datacenter: 'dc2' }),
  ]
  const allocations = [allocationRow(0)]
  const decision = decide({ nodes, job: scheduledJob(system), allocations })
  t.match(decision.place, [{ allocation: { name: 'job.web[0]', nodeId: id(2) } }])
  t.same([decision.stop, decision.failed], [[], []])
})

t.test(
  'it stays on a node that takes no new work, and leaves one that drains or does not fit',
  async (t) => {
    const nodes = [
      nodeRow(1, {}, { eligible: false }),
      nodeRow(2),
      nodeRow(3, { drivers: [] }),
      nodeRow(4, {}, { status: 'down' }),
    ]
    const allocations = [
      allocationRow(0),
      allocationRow(1, { index: 0, nodeId: id(2), migrate: true }),
      allocationRow(2, { index: 0, nodeId: id(3) }),
      allocationRow(3, { index: 0, nodeId: id(4) }),
    ]
    const decision = decide({ nodes, job: scheduledJob(system), allocations })
    t.same(
      decision.stop.map(({ id, desiredDescription, lost }) => [
        id.slice(-1),
        desiredDescription,
        lost,
      ]),
      [
        ['1', reasons.migrated, false],
        ['2', reasons.infeasible, false],
        ['3', reasons.lost, true],
      ],
    )
  },
)

t.test('a node that is full waits, the others do not', async (t) => {
  const nodes = [
    nodeRow(1, {
      resources: { cpuMhz: 100, memoryMb: 100, diskMb: 1_000, networks: [], nodeNetworks: [] },
    }),
    nodeRow(2),
  ]
  const decision = decide({ nodes, job: scheduledJob(system) })
  t.match(decision.place, [{ allocation: { nodeId: id(2) } }])
  t.same(decision.queued, [['web', 1]])
  t.same(decision.failed[0]?.[1].dimensionExhausted, [['cpu', 1]])
})

t.test('sysbatch runs to its end once on each node, and again for a new version', async (t) => {
  const nodes = [nodeRow(1), nodeRow(2)]
  const spec = jobSpec({ Type: 'sysbatch' })
  const allocations = [
    allocationRow(0, { clientStatus: 'complete' }),
    allocationRow(1, { index: 0, nodeId: id(2), clientStatus: 'failed' }),
  ]
  t.same(decide({ nodes, job: scheduledJob(spec), allocations }).place, [])
  const changed = scheduledJob(spec, { version: 1 })
  t.equal(decide({ nodes, job: changed, allocations }).place.length, 2)
  const cutShort = allocationRow(0, { clientStatus: 'complete', tasks: [deadTask(['Killed'])] })
  t.equal(
    decide({ nodes: nodes.slice(0, 1), job: scheduledJob(spec), allocations: [cutShort] }).place
      .length,
    1,
  )
})

t.test('sysbatch that came to its end is not begun again because it was stopped', async (t) => {
  const place = (desiredDescription: string, event: string) => {
    const stopped = { clientStatus: 'complete', desiredStatus: 'stop', desiredDescription } as const
    const allocations = [allocationRow(0, { ...stopped, tasks: [deadTask([event])] })]
    const job = scheduledJob(jobSpec({ Type: 'sysbatch' }))
    return decide({ nodes: [nodeRow(1)], job, allocations }).place.length
  }
  t.equal(place(reasons.lost, 'Terminated'), 0)
  t.equal(place(reasons.migrated, 'Terminated'), 0)
  t.equal(place(reasons.drained, 'Killed'), 0, 'at the deadline of a drain')
  t.equal(place(reasons.migrated, 'Killed'), 1)
})

t.test('a failed one of a system job is placed again, but not because it failed', async (t) => {
  const nodes = [nodeRow(1)]
  const allocations = [allocationRow(0, { clientStatus: 'failed' })]
  const job = scheduledJob(system)
  t.same(decide({ nodes, job, allocations, triggeredBy: 'alloc-failure' }).place, [])
  t.equal(decide({ nodes, job, allocations, triggeredBy: 'node-update' }).place.length, 1)
})

t.test('an update goes node by node', async (t) => {
  const nodes = [nodeRow(1), nodeRow(2), nodeRow(3)]
  const update = { Update: { MaxParallel: 1 } }
  const before = jobSpec({ Type: 'system' }, update)
  const after = jobSpec({ Type: 'system', Meta: { a: 'b' } }, update)
  const allocations = [1, 2, 3].map((at) => allocationRow(at, { index: 0, nodeId: id(at) }))
  const job = scheduledJob(after, { version: 1 })
  const first = decide({ nodes, job, allocations, specs: [before, after] })
  t.equal(first.place.length, 1)
  t.equal(first.place[0]?.stop?.desiredDescription, reasons.updated)
})
