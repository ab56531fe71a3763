/** Plans of scheduler workers: what is checked again when they are applied. */
import t from 'tap'
import { deploymentById } from '../../../src/domains/deployments/queries.ts'
import { systemDeploymentsVersion } from '../../../src/domains/jobs/later-model.ts'
import { idOf, nowMs, placedOn, proposed, workloads } from './workloads.ts'

void t.test(
  'places, stops and ends the evaluation in one entry, and the job follows',
  async (t) => {
    const here = await workloads(t)
    const node = await here.node(1)
    const job = await here.plant()
    const evaluation = here.evaluation(job.evaluation)
    if (evaluation === undefined) throw new Error('no evaluation')
    const as = proposed(evaluation)
    const outcome = await here.plan(job, {
      place: [placedOn(job, node, 0), placedOn(job, node, 1)],
      evaluations: [{ ...as, status: 'complete', queued: [['g', 3]] }],
    })
    t.strictSame(outcome, {
      stale: false,
      refused: [],
      nodes: [node],
      preempted: [],
      evaluations: [],
    })
    t.match(here.allocation(idOf('allo', 0)), {
      desiredStatus: 'run',
      clientStatus: 'pending',
      allocModifyIndex: here.machine.appliedIndex,
    })
    t.match(here.evaluation(job.evaluation), { status: 'complete', createIndex: job.index })
    t.match(here.job(), { status: 'running', groups: [{ group: 'g', queued: 3, starting: 2 }] })

    const again = await here.plan(job, { place: [placedOn(job, node, 2)] })
    t.equal(again.stale, true, 'the evaluation is at its end')
    t.equal(here.allocation(idOf('allo', 2)), undefined)
  },
)

void t.test('what does not stand in the newest state is refused, the rest is done', async (t) => {
  const here = await workloads(t)
  const [ready, down, kept] = [await here.node(1), await here.node(2), await here.node(3)]
  await here.status(down, 'down')
  await here.apply('nodes.eligibility', { id: kept, eligible: false, nowMs })
  const job = await here.plant()
  const outcome = await here.plan(job, {
    place: [
      placedOn(job, ready, 0, { cpuMhz: 3_900 }),
      placedOn(job, ready, 1, { cpuMhz: 1 }),
      placedOn(job, down, 2),
      placedOn(job, kept, 3),
      placedOn(job, idOf('node', 9), 4),
      placedOn(job, ready, 5, { cpuMhz: 0, ports: [22] }),
      placedOn(job, ready, 6, { cpuMhz: 0, ports: [80] }),
      placedOn(job, ready, 7, { cpuMhz: 0, ports: [80] }),
      placedOn(job, ready, 8, { cpuMhz: 0, ports: [81, 81] }),
      placedOn(job, ready, 9, { cpuMhz: 0, name: 'web.g[0]' }),
      placedOn(job, ready, 10, { cpuMhz: 0, jobVersion: 7 }),
      placedOn(job, ready, 11, { cpuMhz: 0, jobId: 'other' }),
      placedOn(job, ready, 12, { cpuMhz: 0, id: idOf('allo', 0) }),
      placedOn(job, ready, 13, { memoryMb: Number.MAX_SAFE_INTEGER, cpuMhz: 0 }),
    ],
  })
  t.strictSame(
    outcome.refused.map(({ id, reason }) => [Number(id.slice(-12)), reason]),
    [
      [1, 'the node has too little cpu'],
      [2, 'the node is down'],
      [3, 'the node is not eligible'],
      [4, 'the node is gone'],
      [5, 'the node has too little port 22'],
      [7, 'the node has too little port 80'],
      [8, 'the node has too little port, for two of it are one'],
      [9, 'one of its name runs'],
      [10, 'the version of the job is gone'],
      [11, 'it is of another job'],
      [0, 'its id is taken'],
      [13, 'the node has too little memory'],
    ],
  )
  t.equal(here.evaluation(job.evaluation)?.status, 'pending')
  t.match(here.job(), { groups: [{ starting: 2 }] })
})

void t.test('a plan for another version of the job does nothing', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, node, 0)] })
  const id = idOf('allo', 0)
  const stop = [stopOf(id)]
  const outcome = await here.plan(job, { jobModifyIndex: job.index - 1, stop })
  t.match(outcome.refused, [{ id, reason: 'the job changed' }])
  t.equal(here.allocation(id)?.desiredStatus, 'run')
})

void t.test('what a plan stops gives its place and name to what the plan puts there', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  const [first, second] = [idOf('allo', 0), idOf('allo', 1)]
  const large = { cpuMhz: 3_000, name: 'web.g[0]', ports: [80] }
  await here.plan(job, { place: [placedOn(job, node, 0, large)] })
  const replaced = placedOn(job, node, 1, { ...large, previous: first })
  const outcome = await here.plan(job, { stop: [stopOf(first)], place: [replaced] })
  t.strictSame(outcome.refused, [])
  t.match(here.allocation(first), { desiredStatus: 'stop', next: second, clientStatus: 'pending' })
  t.match(here.allocation(second), { previous: first, desiredStatus: 'run' })

  const more = await here.plan(job, { place: [placedOn(job, node, 2, { cpuMhz: 900 })] })
  t.match(
    more.refused,
    [{ reason: 'the node has too little cpu' }],
    'until its agent says that it ended',
  )
})

void t.test('only the allocations of a node that is down are lost', async (t) => {
  const here = await workloads(t)
  const [node, other] = [await here.node(1), await here.node(2)]
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, node, 0), placedOn(job, other, 1)] })
  await here.status(node, 'down')
  const lost = [0, 1].map((number) => ({ ...stopOf(idOf('allo', number)), lost: true }))
  await here.plan(job, { stop: lost })
  t.match(here.allocation(idOf('allo', 0)), { clientStatus: 'lost', desiredStatus: 'stop' })
  t.match(here.allocation(idOf('allo', 1)), { clientStatus: 'pending', desiredStatus: 'stop' })
  t.match(here.job(), { groups: [{ lost: 1, starting: 1 }] })
})

void t.test('an update in place stays where it is, also on a node that is draining', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const job = await here.plant()
  const placed = placedOn(job, node, 0)
  await here.plan(job, { place: [placed] })
  const spec = { deadlineNs: 0, ignoreSystemJobs: false }
  await here.apply('nodes.drain', {
    id: node,
    spec,
    markEligible: false,
    accessor: '',
    meta: [],
    nowMs,
  })
  const update = [{ id: placed.id, jobVersion: 0, metrics: placed.metrics }]
  t.strictSame((await here.plan(job, { update })).refused, [])
  t.equal(here.allocation(placed.id)?.allocModifyIndex, here.machine.appliedIndex)
  const gone = [{ id: placed.id, jobVersion: 5, metrics: placed.metrics }]
  t.match((await here.plan(job, { update: gone })).refused, [{ id: placed.id }])
})

void t.test(
  'an evaluation that stopped allocations wait for is kept though something was refused',
  async (t) => {
    const here = await workloads(t)
    const node = await here.node(1)
    const job = await here.plant()
    const evaluation = here.evaluation(job.evaluation)
    if (evaluation === undefined) throw new Error('no evaluation')
    const as = proposed(evaluation)
    const [later, blocked] = [idOf('late', 1), idOf('bloc', 1)]
    const outcome = await here.plan(job, {
      place: [placedOn(job, node, 0, { cpuMhz: 9_000 })],
      evaluations: [
        { ...as, status: 'complete' },
        { ...as, id: later, waitUntilMs: 9_000 },
        { ...as, id: blocked, status: 'blocked' },
      ],
    })
    t.equal(outcome.refused.length, 1)
    t.equal(here.evaluation(job.evaluation)?.status, 'pending')
    t.equal(here.evaluation(later)?.waitUntilMs, 9_000)
    t.equal(here.evaluation(blocked), undefined)
  },
)

function stopOf(id: string) {
  return {
    id,
    desiredStatus: 'stop' as const,
    desiredDescription: 'x',
    lost: false,
    followupEval: '',
  }
}

void t.test('what ends for another does so in the entry that places that one', async (t) => {
  const here = await workloads(t)
  const node = await here.node(1)
  const low = await here.plant('low')
  await here.plan(low, {
    place: [
      placedOn(low, node, 0, { cpuMhz: 2_000, ports: [80] }),
      placedOn(low, node, 1, { cpuMhz: 1_500 }),
    ],
  })
  const high = await here.plant('high')
  const wanted = { cpuMhz: 2_500, ports: [80] }
  const [first, second, third] = [idOf('allo', 0), idOf('allo', 1), idOf('allo', 2)]
  const few = await here.plan(high, {
    place: [placedOn(high, node, 2, { ...wanted, cpuMhz: 500, preempts: [second] })],
  })
  t.match(few, {
    refused: [{ id: third, reason: 'the node has too little port 80' }],
    preempted: [],
    evaluations: [],
  })
  t.equal(here.allocation(second)?.desiredStatus, 'run', 'for nothing that is refused')
  const own = await here.plan(low, { place: [placedOn(low, node, 5, { preempts: [first] })] })
  t.match(own, { refused: [{ reason: /its own job/ }], preempted: [] })

  const preempts = [first, idOf('allo', 99)]
  const done = await here.plan(high, {
    place: [placedOn(high, node, 2, { ...wanted, cpuMhz: 2_400, preempts })],
  })
  t.match(done, { refused: [], preempted: [first] })
  t.match(here.allocation(third), { preempts, desiredStatus: 'run' })
  t.match(here.allocation(first), {
    desiredStatus: 'evict',
    desiredDescription: `Preempted by alloc ID ${third}`,
    preemptedBy: third,
    clientStatus: 'pending',
    allocModifyIndex: here.machine.appliedIndex,
  })
  const evaluation = await here.evaluationOf('preemption')
  t.match(evaluation, { jobId: 'low', status: 'pending', priority: 50 })
  t.same(done.evaluations, [evaluation?.id])
  const more = await here.plan(high, { place: [placedOn(high, node, 3, { cpuMhz: 100 })] })
  t.match(more.refused, [{ reason: 'the node has too little cpu' }], 'it counts until it has ended')
})

void t.test(
  'a deployment wants what the newest plan says, once every server does it so',
  async (t) => {
    const here = await workloads(t, systemDeploymentsVersion - 1)
    const job = await here.plant('web', 'system')
    const id = idOf('depl', 1)
    const plan = (desiredTotal: number) => {
      const rules = { autoRevert: false, autoPromote: false, progressDeadlineMs: 0 }
      const group = { group: 'g', ...rules, desiredCanaries: 0, desiredTotal }
      return here.plan(job, { deployment: { id, groups: [group] } })
    }
    const total = () => here.read((reader) => deploymentById(reader, id))?.groups[0]?.desiredTotal
    await plan(3)
    t.equal(total(), 3)
    await plan(4)
    t.equal(total(), 3, 'as older programs apply it')
    await here.apply('state.raiseVersion', { version: systemDeploymentsVersion })
    await plan(4)
    t.equal(total(), 4)
    await here.plan(job, {
      deploymentEnds: [{ id, status: 'cancelled', statusDescription: 'it is over' }],
    })
    await plan(5)
    t.equal(total(), 4, 'one that is over stays as it was')
  },
)

void t.test('what waits says which evaluation looks at it again, and no time moves', async (t) => {
  const here = await workloads(t)
  const job = await here.plant()
  await here.plan(job, { place: [placedOn(job, await here.node(1), 0)] })
  const before = here.allocation(idOf('allo', 0))
  const ids = [idOf('allo', 0), idOf('allo', 9)]
  const followUp = { evaluation: idOf('eval', 77), ids }
  const { refused } = await here.plan(job, { followUp, nowMs: nowMs + 5_000 })
  t.same(refused, [], 'one that was collected is no reason to look again')
  t.strictSame(here.allocation(idOf('allo', 0)), {
    ...before,
    followupEval: followUp.evaluation,
    modifyIndex: here.machine.appliedIndex,
  })
  const other = await here.plant('other')
  t.match(await here.plan(other, { followUp }), { refused: [{ reason: 'it is of another job' }] })
  const stale = await here.plan({ ...job, index: 1 }, { followUp })
  t.match(stale, { refused: [{ reason: 'the job changed' }, {}] })
})
