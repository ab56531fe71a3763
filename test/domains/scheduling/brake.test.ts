/** Scheduling while the storm brake is on: what waits for its release, and what does not. */
import t, { type Test } from 'tap'
import type { NodeSpec } from '../../../src/domains/nodes/model.ts'
import { brakeOf } from '../../../src/domains/nodes/brake-queries.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { driver, jobSpec } from '../../scheduler/cluster.ts'
import { scheduled, type Scheduled } from './scheduled.ts'

/** Room for two. */
const spec: Partial<NodeSpec> = {
  drivers: [driver('mock_driver')],
  resources: { cpuMhz: 1_100, memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] },
  reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
}
const distinct = { Constraints: [{ LTarget: '', RTarget: '', Operand: 'distinct_hosts' }] }

async function fleet(t: Test, count: number) {
  const here = await scheduled(t)
  const ids: string[] = []
  for (let number = 1; number <= count; number += 1) ids.push(await here.state.node(number, spec))
  return { here, ids }
}

function start(t: Test, here: Scheduled) {
  const duty = here.start()
  t.teardown(() => duty.stop())
  return duty
}

async function tell(here: Scheduled, ids: readonly string[], status: 'ready' | 'down') {
  const updates = ids.map((id) => ({ id, status, cause: 'heartbeat' }))
  await here.propose({ type: 'nodes.status', args: { updates, nowMs: Date.now() } })
}

function placed(here: Scheduled, count: number, jobId = 'job') {
  return eventually(`${count} allocations of ${jobId}`, async () => {
    const rows = await here.live(jobId)
    return rows.length === count ? rows : undefined
  })
}

/** Where they are, and how many of them are said to be lost. */
async function whereabouts(here: Scheduled, lost: readonly string[], jobId = 'job') {
  const rows = await here.allocations(jobId)
  const live = await here.live(jobId)
  return {
    live: live.length,
    onLost: live.filter(({ nodeId }) => lost.includes(nodeId)).length,
    lost: rows.filter(({ clientStatus }) => clientStatus === 'lost').length,
  }
}

/** The scheduler has looked at all that it may look at. */
async function settled(here: Scheduled) {
  await eventuallyTrue('nothing is pending but what is held', async () => {
    const pending = (await here.evaluations()).filter(({ status }) => status === 'pending')
    return pending.length === (await here.held())
  })
}

const release = {
  type: 'nodes.releaseBrake',
  args: { storm: null, cause: 'operator', accessor: '', nowMs: 1 },
}

void t.test('what a storm took is not replaced before its release; all else goes on', async (t) => {
  const { here, ids } = await fleet(t, 12)
  start(t, here)
  await here.register(jobSpec(distinct, { Count: 12 }))
  await placed(here, 12)
  const lost = ids.slice(0, 5)
  await tell(here, lost, 'down')
  t.ok(here.state.read(brakeOf).on)
  await here.register(jobSpec({ ID: 'other' }, { Count: 3 }))
  await placed(here, 3, 'other')
  await settled(here)
  t.equal(await here.held(), 5)
  t.same(await whereabouts(here, lost), { live: 12, onLost: 5, lost: 0 })

  // Another reason to look at the job does not get round it.
  const evaluationId = '22222222-0000-4000-8000-000000000000'
  const about = { namespace: 'default', id: 'job', evaluationId, nowMs: 1 }
  await here.propose({ type: 'jobs.evaluate', args: about })
  await settled(here)
  t.same(await whereabouts(here, lost), { live: 12, onLost: 5, lost: 0 })

  // What an operator stops there is replaced, and a node that is back has what it had.
  const [one] = (await here.live()).filter(({ nodeId }) => nodeId === lost[0])
  const move = { ids: [one?.id], trigger: 'alloc-stop', nodeId: '', nowMs: 1 }
  await here.propose({ type: 'allocations.move', args: move })
  await eventuallyTrue('it is stopped', async () => (await whereabouts(here, lost)).onLost === 4)
  await tell(here, lost.slice(1, 2), 'ready')
  t.notOk(here.state.read(brakeOf).on, '4 of 12 and fewer than 5')
  await eventuallyTrue('the others are replaced', async () => {
    const { onLost, lost: gone } = await whereabouts(here, lost)
    return onLost === 1 && gone >= 3
  })
  t.equal(await here.held(), 0)
})

void t.test('a new leader holds on, and the release has all replaced', async (t) => {
  const { here, ids } = await fleet(t, 12)
  const first = start(t, here)
  await here.register(jobSpec(distinct, { Count: 6 }))
  const used = (await placed(here, 6)).map(({ nodeId }) => nodeId)
  await first.stop()
  await tell(here, used.slice(0, 5), 'down')
  start(t, here)
  await here.register(jobSpec({ ID: 'other' }))
  await placed(here, 1, 'other')
  await settled(here)
  t.same(await whereabouts(here, used.slice(0, 5)), { live: 6, onLost: 5, lost: 0 })
  await here.propose(release)
  await eventuallyTrue('all are replaced', async () => {
    const seen = await whereabouts(here, used.slice(0, 5))
    return seen.live === 6 && seen.onLost === 0 && seen.lost === 5
  })
  await settled(here)
  t.ok(ids)
})

void t.test(
  'an evaluation that waits for a worker when the brake goes on is held too',
  async (t) => {
    const { here } = await fleet(t, 12)
    start(t, here)
    await here.register(jobSpec(distinct, { Count: 6 }))
    const used = (await placed(here, 6)).map(({ nodeId }) => nodeId)
    await settled(here)
    here.workers.configure({ count: 8, enabled: ['_core'] })
    for (const id of used.slice(0, 5)) await tell(here, [id], 'down')
    t.ok(here.state.read(brakeOf).on)
    here.workers.configure({ count: 8, enabled: ['service', '_core'] })
    await here.register(jobSpec({ ID: 'other' }))
    await placed(here, 1, 'other')
    await settled(here)
    t.same(await whereabouts(here, used.slice(0, 5)), { live: 6, onLost: 5, lost: 0 })
    t.equal(await here.held(), 5)
    await here.propose(release)
    await eventuallyTrue('all are replaced', async () => {
      const seen = await whereabouts(here, used.slice(0, 5))
      return seen.live === 6 && seen.onLost === 0
    })
  },
)

void t.test('a lost node that is given up is replaced at once', async (t) => {
  const { here } = await fleet(t, 14)
  start(t, here)
  await here.register(jobSpec(distinct, { Count: 8 }))
  const used = (await placed(here, 8)).map(({ nodeId }) => nodeId)
  const lost = used.slice(0, 7)
  await tell(here, lost, 'down')
  await settled(here)
  t.equal((await whereabouts(here, lost)).onLost, 7)
  await here.propose({ type: 'nodes.purge', args: { id: lost[0], nowMs: 1 } })
  await eventuallyTrue('one is replaced', async () => (await whereabouts(here, lost)).onLost === 6)
  await settled(here)
  t.ok(here.state.read(brakeOf).on)
  t.equal((await whereabouts(here, lost)).onLost, 6)
})

void t.test('a new version of a job replaces what is held', async (t) => {
  const { here } = await fleet(t, 12)
  start(t, here)
  const group = { Count: 6, Update: { MaxParallel: 0 } }
  await here.register(jobSpec(distinct, group))
  const used = (await placed(here, 6)).map(({ nodeId }) => nodeId)
  const lost = used.slice(0, 5)
  await tell(here, lost, 'down')
  await settled(here)
  t.equal((await whereabouts(here, lost)).onLost, 5)
  await here.register(jobSpec({ ...distinct, Meta: { a: 'b' } }, group))
  await eventuallyTrue('all are of the new version', async () => {
    const rows = await here.live()
    const fresh = rows.filter(
      ({ jobVersion, nodeId }) => jobVersion === 1 && !lost.includes(nodeId),
    )
    return fresh.length === 6
  })
  t.ok(here.state.read(brakeOf).on, 'the others wait on')
  await here.propose(release)
  await settled(here)
  t.equal((await here.live()).filter(({ jobVersion }) => jobVersion === 1).length, 6)
})
