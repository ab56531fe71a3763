/** How versions of a job replace one another: in steps, by canaries, and back. */
import t from 'tap'
import { assignedTo } from '../../../src/domains/allocations/assigned-queries.ts'
import { deployed, leader, version } from './deployed.ts'

t.setTimeout(120_000)

t.test('the first version is deployed, and stable once all are healthy', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0))
  const rows = await on.live(0, 3)
  const [deployment] = await on.all()
  t.match(deployment, {
    status: 'running',
    statusDescription: 'Deployment is running',
    jobVersion: 0,
    groups: [{ desiredTotal: 3, placed: 3, healthy: 0, desiredCanaries: 0 }],
  })
  t.ok(rows.every(({ deploymentId }) => deploymentId === deployment?.id))
  t.match(await on.here.evaluations(), [{ status: 'complete', deploymentId: deployment?.id }])
  await on.health(rows.slice(0, 2), true)
  await on.until('two are healthy', 0, (_row, { healthy }) => healthy === 2)
  t.notOk(on.version(0)?.stable)
  await on.health(rows.slice(2), true)
  t.match(await on.ends(0, 'successful'), {
    statusDescription: 'Deployment completed successfully',
    groups: [{ healthy: 3, unhealthy: 0 }],
  })
  t.equal(on.version(0)?.stable, true)
  t.equal(on.here.state.job('job')?.stableVersion, 0)
})

t.test(
  'a new version goes on with each that is healthy, and stops at one that is not',
  async (t) => {
    const on = await deployed(t)
    await on.here.register(version(0))
    await on.becomesHealthy(0, 3)
    await on.here.register(version(1))
    const [first] = await on.live(1, 1)
    t.ok(first)
    if (first === undefined) return
    await on.health([first], true)
    const two = await on.live(1, 2)
    await on.health(
      two.filter(({ id }) => id !== first.id),
      false,
    )
    await on.until('one is unhealthy', 1, (_row, { unhealthy }) => unhealthy === 1)
    await on.live(1, 2)
    t.equal((await on.live(0, 1)).length, 1, 'the last of the older version stays')
    t.match(await on.ends(1, 'running'), { groups: [{ healthy: 1, unhealthy: 1 }] })
  },
)

t.test('a newer version cancels a deployment, and so does a stop', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0))
  await on.live(0, 3)
  await on.here.register(version(1))
  t.match(await on.ends(0, 'cancelled'), {
    statusDescription: 'Cancelled due to newer version of job',
  })
  await on.live(1, 1)
  const args = { namespace: 'default', id: 'job', purge: false, nowMs: Date.now() }
  const evaluationId = '11111111-0000-4000-8000-000000000000'
  await on.here.propose({ type: 'jobs.deregister', args: { ...args, evaluationId } })
  t.match(await on.ends(1, 'cancelled'), { statusDescription: 'Cancelled because job is stopped' })
})

t.test('a change in place is a deployment of its own', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0))
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  const spec = version(0)
  const TaskGroups = spec.TaskGroups.map((group) => ({ ...group, Count: 4 }))
  await on.here.register({ ...spec, TaskGroups })
  await on.until('all are placed', 1, (_row, { placed }) => placed === 4)
  await on.becomesHealthy(1, 4)
  await on.ends(1, 'successful')
})

t.test(
  'what makes no progress fails, and the job goes back to what was stable, once',
  async (t) => {
    const on = await deployed(t)
    const update = { AutoRevert: true, ProgressDeadline: 1e9 }
    await on.here.register(version(0))
    await on.becomesHealthy(0, 3)
    await on.ends(0, 'successful')
    await on.here.register(version(1, update))
    const [bad] = await on.live(1, 1)
    if (bad !== undefined) await on.health([bad], false)
    t.match(await on.ends(1, 'failed'), {
      statusDescription: 'Failed due to progress deadline - rolling back to job version 0',
    })
    t.match(on.here.state.job('job'), { version: 2, stop: false })
    t.strictSame(on.version(2)?.spec, on.version(0)?.spec)
    await on.becomesHealthy(2, 3)
    await on.ends(2, 'successful')
    t.equal(on.here.state.job('job')?.stableVersion, 2)
    // The same that failed, and then what is stable, marked as failed: it goes back, and then nowhere.
    await on.here.register(version(1, { ...update, ProgressDeadline: 600e9 }))
    const third = await on.ends(3, 'running')
    const failed = await on.change('deployments.fail', { id: third.id, operator: true })
    t.match(failed, { type: 'changed', revertedVersion: 2 })
    t.match(await on.ends(3, 'failed'), {
      statusDescription: 'Deployment marked as failed - rolling back to job version 2',
    })
    t.match(await on.change('deployments.fail', { id: third.id, operator: true }), {
      type: 'refused',
      reason: 'the deployment is over: it is failed',
    })
  },
)

t.test('a job that goes back has the policies of scaling that it had', async (t) => {
  const on = await deployed(t)
  const withMax = (number: number, Max: number) => {
    const spec = version(number, { AutoRevert: true })
    const Scaling = { Enabled: true, Type: 'horizontal', Min: 1, Max, Policy: {} }
    return { ...spec, TaskGroups: spec.TaskGroups.map((group) => ({ ...group, Scaling })) }
  }
  const policy = () => on.here.state.job('job')?.scaled?.[0]
  await on.here.register(withMax(0, 3))
  const first = policy()
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  await on.here.register(withMax(1, 9))
  const second = policy()
  t.ok(Number(second?.modifyIndex) > Number(first?.modifyIndex))
  const { id } = await on.ends(1, 'running')
  await on.change('deployments.fail', { id, operator: true })
  t.match(on.here.state.job('job'), { version: 2 })
  t.match(policy(), { group: first?.group, createIndex: first?.createIndex })
  t.ok(Number(policy()?.modifyIndex) > Number(second?.modifyIndex), 'it is another one again')
})

t.test('to what is the same, or to nothing, a job does not go back', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { AutoRevert: true }))
  const first = await on.ends(0, 'running')
  await on.change('deployments.fail', { id: first.id, operator: true })
  t.match(await on.ends(0, 'failed'), {
    statusDescription: 'Deployment marked as failed - no stable job version to auto revert to',
  })
  t.equal(on.here.state.job('job')?.version, 0)
  await on.here.register(version(1, { AutoRevert: true }))
  await on.becomesHealthy(1, 3)
  await on.ends(1, 'successful')
  await on.here.register(version(2, { AutoRevert: true }))
  await on.ends(2, 'running')
  await on.here.register(version(1, { AutoRevert: true }))
  const again = await on.ends(3, 'running')
  await on.change('deployments.fail', { id: again.id, operator: true })
  t.match(await on.ends(3, 'failed'), { statusDescription: /not rolling back .* version 1 as/ })
  t.equal(on.here.state.job('job')?.version, 3)
})

t.test('without a progress deadline the first unhealthy one fails it', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { ProgressDeadline: 0 }))
  const [one] = await on.live(0, 3)
  if (one !== undefined) await on.health([one], false)
  t.match(await on.ends(0, 'failed'), { statusDescription: 'Failed due to unhealthy allocations' })
})

t.test('while it is paused nothing is replaced', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0))
  await on.becomesHealthy(0, 3)
  await on.here.register(version(1))
  const [first] = await on.live(1, 1)
  const { id } = await on.ends(1, 'running')
  await on.change('deployments.pause', { id, pause: true })
  t.match(await on.ends(1, 'paused'), { statusDescription: 'Deployment is paused' })
  if (first !== undefined) await on.health([first], true)
  await on.live(1, 1)
  await on.change('deployments.pause', { id, pause: false })
  await on.live(1, 2)
  await on.becomesHealthy(1, 3)
  await on.ends(1, 'successful')
})

t.test('canaries stand beside the others until they are promoted', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { Canary: 1 }))
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  await on.here.register(version(1, { Canary: 1 }))
  const [canary] = await on.live(1, 1)
  t.match(canary, { canary: true, name: 'job.web[0]' })
  await on.live(0, 3)
  const { id, statusDescription, groups } = await on.ends(1, 'running')
  t.equal(statusDescription, 'Deployment is running but requires manual promotion')
  t.match(groups, [{ desiredCanaries: 1, desiredTotal: 3, placedCanaries: [canary?.id] }])
  t.match(await on.change('deployments.promote', { id, groups: null }), {
    type: 'refused',
    reason: 'group "web" has 0 of 1 canaries healthy',
  })
  if (canary !== undefined) await on.health([canary], true)
  const older = await on.live(0, 3)
  const toldCanary = (row = canary) => {
    const { id: own = '', nodeId = '' } = row ?? {}
    return on.here.state.read((reader) => assignedTo(reader, nodeId, [own])).allocations
  }
  t.match(toldCanary(), [{ id: canary?.id, canary: true }], 'its agent knows')
  t.strictSame(toldCanary(older[0])[0]?.canary, undefined)
  t.match(await on.change('deployments.promote', { id, groups: ['none'] }), { type: 'refused' })
  t.match(await on.change('deployments.promote', { id, groups: ['web'] }), { type: 'changed' })
  t.match(toldCanary(), [{ id: canary?.id, canary: undefined }])
  await on.becomesHealthy(1, 3)
  const done = await on.ends(1, 'successful')
  t.match(done.groups, [{ promoted: true, placed: 3, healthy: 3 }])
  t.equal((await on.live(1, 3)).filter(({ id: one }) => one === canary?.id).length, 1)
  await on.live(0, 0)
})

t.test('a canary that is lost comes again, and an older one comes back as it was', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { Canary: 2 }))
  await on.becomesHealthy(0, 3)
  await on.here.register(version(1, { Canary: 2 }))
  const [canary] = await on.live(1, 2)
  const [older] = await on.live(0, 3)
  const ids = [canary, older].flatMap((row) => row?.id ?? [])
  const args = { ids, trigger: 'alloc-stop', nodeId: '', nowMs: Date.now() }
  await on.here.propose({ type: 'allocations.move', args })
  await on.until('a third canary was placed', 1, (_row, { placed }) => placed === 3)
  const canaries = await on.live(1, 2)
  t.ok(canaries.every((row) => row.canary === true))
  const olders = await on.live(0, 3)
  t.ok(olders.every(({ id }) => id !== older?.id))
})

t.test('healthy canaries are promoted where the job says so', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { Canary: 3, AutoPromote: true }))
  await on.becomesHealthy(0, 3)
  await on.here.register(version(1, { Canary: 3, AutoPromote: true }))
  t.match(await on.ends(1, 'running'), {
    statusDescription: 'Deployment is running pending automatic promotion',
  })
  await on.live(0, 3)
  await on.becomesHealthy(1, 3)
  await on.ends(1, 'successful')
  await on.live(0, 0)
})

t.test('canaries of a deployment that fails or is cancelled stop', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { Canary: 1 }))
  await on.becomesHealthy(0, 3)
  await on.here.register(version(1, { Canary: 1 }))
  await on.live(1, 1)
  await on.here.register(version(2, { Canary: 1 }))
  await on.ends(1, 'cancelled')
  await on.live(1, 0)
  await on.live(2, 1)
  const { id } = await on.ends(2, 'running')
  await on.change('deployments.fail', { id, operator: true })
  await on.live(2, 0)
  await on.live(0, 3)
})

t.test('an operator says which are healthy', async (t) => {
  const on = await deployed(t)
  await on.here.register(version(0, { HealthCheck: 'manual' }))
  const rows = await on.live(0, 3)
  const { id } = await on.ends(0, 'running')
  const [one, two, three] = rows.map((row) => row.id)
  const judged = (healthy: readonly unknown[], unhealthy: readonly unknown[]) =>
    on.change('allocations.setHealth', { id, healthy, unhealthy })
  t.match(await judged(['99999999-0000-4000-8000-000000000000'], []), { type: 'refused' })
  t.match(await judged([one, two], []), { type: 'changed' })
  await on.until('two are healthy', 0, (_row, { healthy }) => healthy === 2)
  t.match(await judged([], [three]), { type: 'changed', row: { status: 'failed' } })
  t.match(await on.ends(0, 'failed'), { statusDescription: 'Failed due to unhealthy allocations' })
})

t.test('a new leader goes on with what it finds', async (t) => {
  const on = await deployed(t)
  const update = { AutoRevert: true, ProgressDeadline: 1e9 }
  await on.here.register(version(0, update))
  await on.becomesHealthy(0, 3)
  await on.ends(0, 'successful')
  await on.here.register(version(1, update))
  await on.live(1, 1)
  await on.stopsLeading()
  leader(t, on.here)
  await on.ends(1, 'failed')
  await on.becomesHealthy(2, 3)
})
