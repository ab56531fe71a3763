/** Versions of a system job replace one another on every node: in steps, by canaries, and back; also while nodes come and go. */
import t from 'tap'
import { newDeployment, withCounts } from '../../../src/domains/deployments/state-model.ts'
import { stepOf } from '../../../src/domains/deployments/step-model.ts'
import { systemDeploymentsVersion } from '../../../src/domains/jobs/later-model.ts'
import { idOf } from '../allocations/workloads.ts'
import { deployed, roomy, systemVersion, type Deployed } from './deployed.ts'

t.setTimeout(120_000)

/** Of the only group. */
function wants(on: Deployed, version: number, desiredTotal: number) {
  return on.until(`version ${version} wants ${desiredTotal}`, version, (_row, group) => {
    return group.desiredTotal === desiredTotal
  })
}

t.test(
  'the first version and each later one is deployed, in steps, and stable at its end',
  async (t) => {
    const on = await deployed(t, { nodes: 3 })
    await on.here.register(systemVersion(0))
    await on.live(0, 3)
    t.match(await on.ends(0, 'running'), { groups: [{ desiredTotal: 3, placed: 3, healthy: 0 }] })
    await on.becomesHealthy(0, 3)
    await on.ends(0, 'successful')
    t.equal(on.version(0)?.stable, true)
    await on.here.register(systemVersion(1))
    await on.live(1, 1)
    await on.live(0, 2)
    await on.becomesHealthy(1, 3)
    t.match(await on.ends(1, 'successful'), { groups: [{ healthy: 3, placed: 3 }] })
    t.equal(on.here.state.job('job')?.stableVersion, 1)
  },
)

t.test('canaries take the places of older ones, and the rest follows a promotion', async (t) => {
  const on = await deployed(t, { nodes: 5 })
  const update = { Canary: 34 }
  await on.here.register(systemVersion(0, update))
  await on.becomesHealthy(0, 5)
  await on.ends(0, 'successful')
  await on.here.register(systemVersion(1, update))
  const [first] = await on.live(1, 1)
  await on.live(0, 4)
  const { id, statusDescription, groups } = await on.ends(1, 'running')
  t.equal(statusDescription, 'Deployment is running but requires manual promotion')
  t.match(groups, [{ desiredCanaries: 2, desiredTotal: 5, placedCanaries: [first?.id] }])
  if (first !== undefined) await on.health([first], true)
  await on.live(1, 2)
  t.match(await on.change('deployments.promote', { id, groups: null }), {
    type: 'refused',
    reason: 'group "web" has 1 of 2 canaries healthy',
  })
  await on.becomesHealthy(1, 2)
  await on.live(0, 3)
  t.match(await on.change('deployments.promote', { id, groups: null }), { type: 'changed' })
  await on.becomesHealthy(1, 5)
  t.match(await on.ends(1, 'successful'), { groups: [{ promoted: true, healthy: 5 }] })
})

t.test('healthy canaries are promoted where the job says so', async (t) => {
  const on = await deployed(t, { nodes: 3 })
  await on.here.register(systemVersion(0))
  await on.becomesHealthy(0, 3)
  await on.here.register(systemVersion(1, { Canary: 50, AutoPromote: true }))
  await on.becomesHealthy(1, 3)
  await on.ends(1, 'successful')
})

t.test('a bad version goes back to what was stable', async (t) => {
  const on = await deployed(t, { nodes: 3 })
  await on.here.register(systemVersion(0))
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  const update = { Canary: 34, AutoRevert: true, ProgressDeadline: 1e9 }
  await on.here.register(systemVersion(1, update))
  const [bad] = await on.live(1, 1)
  if (bad !== undefined) await on.fails([bad])
  t.match(await on.ends(1, 'failed'), {
    statusDescription: 'Failed due to progress deadline - rolling back to job version 0',
  })
  await on.becomesHealthy(2, 3)
  await on.ends(2, 'successful')
  t.equal(on.here.state.job('job')?.stableVersion, 2)
})

t.test('what some nodes run still needs no promotion when the job goes back to it', async (t) => {
  const on = await deployed(t, { nodes: 3 })
  const update = { Canary: 34, AutoRevert: true }
  await on.here.register(systemVersion(0, update))
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  await on.here.register(systemVersion(1, { ...update, ProgressDeadline: 1e9 }))
  const [bad] = await on.live(1, 1)
  // It runs on, so it is to be replaced.
  if (bad !== undefined) await on.health([bad], false)
  await on.ends(1, 'failed')
  await on.becomesHealthy(2, 3)
  t.match(await on.ends(2, 'successful'), { groups: [{ desiredCanaries: 0, healthy: 3 }] })
})

t.test('without a way back the nodes run on with what they have', async (t) => {
  const on = await deployed(t, { nodes: 3 })
  await on.here.register(systemVersion(0))
  await on.becomesHealthy(0, 3)
  await on.here.register(systemVersion(1, { Canary: 60, MaxParallel: 2 }))
  const [one, two] = await on.live(1, 2)
  if (one !== undefined) await on.health([one], false)
  if (two !== undefined) await on.fails([two])
  const { id } = await on.ends(1, 'running')
  t.same([(await on.live(1, 1)).length, (await on.live(0, 1)).length], [1, 1])
  await on.change('deployments.fail', { id, operator: true })
  await on.ends(1, 'failed')
  await on.live(0, 2)
  t.match(await on.live(1, 1), [{ id: one?.id }])
})

t.test('nodes that leave or come are not missed', async (t) => {
  const on = await deployed(t, { nodes: 3 })
  await on.here.register(systemVersion(0))
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  await on.here.register(systemVersion(1))
  await on.live(1, 1)
  await on.here.state.status(idOf('node', 3), 'down')
  await wants(on, 1, 2)
  await on.here.state.node(4, roomy)
  await wants(on, 1, 3)
  await on.becomesHealthy(1, 3)
  await on.ends(1, 'successful')
  // After its end nothing is counted any more.
  await on.here.state.status(idOf('node', 3), 'ready')
  await on.becomesHealthy(1, 4)
  t.equal((await on.all()).length, 2)
})

t.test('a deployment whose nodes have all left waits for one', async (t) => {
  const on = await deployed(t)
  await on.here.register(systemVersion(0))
  await on.live(0, 1)
  await on.here.state.status(idOf('node', 1), 'down')
  await wants(on, 0, 0)
  await on.live(0, 0)
  await on.ends(0, 'running')
  await on.here.state.node(2, roomy)
  await on.becomesHealthy(0, 1)
  await on.ends(0, 'successful')
})

t.test('while it is paused nothing is replaced, and the end of the job cancels it', async (t) => {
  const on = await deployed(t, { nodes: 3 })
  await on.here.register(systemVersion(0))
  await on.becomesHealthy(0, 3)
  await on.here.register(systemVersion(1))
  const [first] = await on.live(1, 1)
  const { id } = await on.ends(1, 'running')
  await on.change('deployments.pause', { id, pause: true })
  if (first !== undefined) await on.health([first], true)
  await on.live(1, 1)
  await on.change('deployments.pause', { id, pause: false })
  await on.live(1, 2)
  const args = { namespace: 'default', id: 'job', purge: false, evaluationId: idOf('eval', 9) }
  await on.here.propose({ type: 'jobs.deregister', args: { ...args, nowMs: Date.now() } })
  await on.ends(1, 'cancelled')
})

t.test('there is none until every server knows them', async (t) => {
  const on = await deployed(t, { nodes: 2, commandVersion: systemDeploymentsVersion - 1 })
  await on.here.register(systemVersion(0))
  await on.becomesHealthy(0, 2)
  await on.here.register(systemVersion(1))
  const [first] = await on.live(1, 1)
  await on.here.propose({
    type: 'state.raiseVersion',
    args: { version: systemDeploymentsVersion },
  })
  if (first !== undefined) await on.health([first], true)
  await on.becomesHealthy(1, 2)
  t.same(await on.all(), [], 'an update that began without one ends without one')
  await on.here.register(systemVersion(2))
  await on.becomesHealthy(2, 2)
  await on.ends(2, 'successful')
})

t.test('a group that wants more has its time from then on', async (t) => {
  const on = await deployed(t)
  await on.here.register(systemVersion(0))
  const job = on.here.state.job('job')
  if (job === undefined) throw new Error('no job')
  const rules = { autoRevert: false, autoPromote: false, progressDeadlineMs: 1_000 }
  const group = { group: 'web', ...rules, desiredCanaries: 2, desiredTotal: 5 }
  const made = newDeployment({ id: idOf('depl', 1), groups: [group] }, job, 50, at(1_000))
  const [state] = made.groups
  if (state === undefined) throw new Error('no group')
  const waiting = { ...made, groups: [{ ...state, healthy: 2, healthyCanaries: 2, ...due(2_000) }] }
  const counted = (counts: object, nowMs: number, row = waiting) =>
    withCounts(row, [{ ...group, ...counts }], at(nowMs))
  t.equal(counted({}, 9_000), waiting, 'nothing is written')
  t.equal(stepOf(waiting, 9_000).type, 'wait', 'healthy canaries wait without a deadline')
  const more = counted({ desiredCanaries: 3, desiredTotal: 8 }, 9_000)
  t.match(more.groups, [{ desiredCanaries: 3, desiredTotal: 8, ...due(10_000) }])
  t.match(stepOf(more, 9_000), { type: 'wait', untilMs: 10_000 })
  t.match(counted({ desiredTotal: 4 }, 9_000).groups, [{ desiredTotal: 4, ...due(2_000) }])
  const promoted = { ...waiting, groups: waiting.groups.map((one) => ({ ...one, promoted: true })) }
  t.match(counted({ desiredCanaries: 1 }, 9_000, promoted).groups, [{ desiredCanaries: 2 }])
})

function at(nowMs: number) {
  return { index: nowMs, nowMs }
}

function due(requireProgressByMs: number) {
  return { requireProgressByMs }
}
