/** The leader's scheduling over a real state: jobs are placed, wait for room, follow their nodes, and survive a new leader. */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { askedMemoryMax, memoryUnlimitedMb } from '../../../src/domains/allocations/model.ts'
import type { Plan } from '../../../src/domains/allocations/plan-model.ts'
import { linkedWorkloadsVersion } from '../../../src/domains/evaluations/model.ts'
import type { NodeSpec } from '../../../src/domains/nodes/model.ts'
import {
  defaultSettings,
  type SchedulerSettings,
} from '../../../src/domains/scheduler-settings/model.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { jobMembersAttribute } from '../../../src/domains/jobs/later-model.ts'
import { driver, jobSpec } from '../../scheduler/cluster.ts'
import { scheduled, type Scheduled } from './scheduled.ts'

const able = { drivers: [driver('mock_driver')] }
const roomy: Partial<NodeSpec> = {
  ...able,
  resources: { cpuMhz: 8_000, memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] },
}

async function running(t: Test): Promise<Scheduled> {
  const here = await scheduled(t)
  const duty = here.start()
  t.teardown(() => duty.stop())
  return here
}

function placed(here: Scheduled, count: number, jobId = 'job') {
  return eventually(`${count} allocations of ${jobId}`, async () => {
    const rows = await here.live(jobId)
    return rows.length === count ? rows : undefined
  })
}

function settled(here: Scheduled) {
  return eventuallyTrue('no evaluation is pending', async () =>
    (await here.evaluations()).every(({ status }) => status !== 'pending'),
  )
}

t.test('a registered job is placed, and its evaluation is complete', async (t) => {
  const here = await running(t)
  await here.state.node(1, roomy)
  await here.state.node(2, roomy)
  const id = await here.register(jobSpec({}, { Count: 3 }))
  const rows = await placed(here, 3)
  t.same(rows.map(({ name }) => name).sort(), ['job.web[0]', 'job.web[1]', 'job.web[2]'])
  t.match(here.state.evaluation(id), { status: 'complete', queued: [['web', 0]], blockedEval: '' })
  t.match(here.state.job('job')?.groups, [{ group: 'web', starting: 3, queued: 0 }])
})

t.test(
  'all parts of a large plan are under way at once, and end the evaluation together',
  async (t) => {
    const here = await scheduled(t)
    const plans: unknown[] = []
    const large = { cpuMhz: 800_000, memoryMb: 819_200, diskMb: 9_000_000 }
    await here.state.node(1, { ...able, resources: { ...large, networks: [], nodeNetworks: [] } })
    const id = await here.register(jobSpec({}, { Count: 300 }))
    here.onPropose = ({ type, args }) => {
      if (type !== 'allocations.plan') return
      const { place, evaluations } = args as Pick<Plan, 'place' | 'evaluations'>
      const rows = place.length
      plans.push({ rows, ends: evaluations.length > 0, underWay: here.underWay })
    }
    const duty = here.start()
    t.teardown(() => duty.stop())
    await placed(here, 300)
    await settled(here)
    t.same(plans, [
      { rows: 128, ends: false, underWay: 3 },
      { rows: 128, ends: false, underWay: 2 },
      { rows: 44, ends: false, underWay: 1 },
      { rows: 0, ends: true, underWay: 1 },
    ])
    t.match(here.state.evaluation(id), { status: 'complete', queued: [['web', 0]] })
  },
)

t.test('what has no place waits in a blocked evaluation until there is a node', async (t) => {
  const here = await running(t)
  const id = await here.register(jobSpec({}, { Count: 2 }))
  const blocked = await eventually('a blocked evaluation', async () =>
    (await here.evaluations()).find(({ status }) => status === 'blocked'),
  )
  t.match(blocked, { triggeredBy: 'queued-allocs', previousEval: id })
  t.match(here.state.evaluation(id), {
    status: 'complete',
    blockedEval: blocked.id,
    queued: [['web', 2]],
    failed: [['web', { coalescedFailures: 1 }]],
  })
  await here.state.node(1, roomy)
  await placed(here, 2)
  await settled(here)
  t.match(here.state.evaluation(blocked.id), { status: 'complete', queued: [['web', 0]] })
})

t.test('room that an ended allocation leaves is given to what waits', async (t) => {
  const here = await running(t)
  const small = {
    ...able,
    resources: { cpuMhz: 600, memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] },
    reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
  }
  await here.state.node(1, small)
  await here.register(jobSpec({ ID: 'first', Type: 'batch' }))
  const [first] = await placed(here, 1, 'first')
  await here.register(jobSpec())
  await eventuallyTrue('one is blocked', async () =>
    (await here.evaluations()).some(({ status }) => status === 'blocked'),
  )
  t.ok(first)
  if (first !== undefined) await here.report([first], { clientStatus: 'complete' })
  await placed(here, 1)
})

t.test('a failed allocation names the evaluation that will place it anew', async (t) => {
  const failing = async (version?: number) => {
    const here = await scheduled(t, version)
    const duty = here.start()
    t.teardown(() => duty.stop())
    await here.state.node(1, roomy)
    const policy = { Unlimited: true, Delay: 60_000_000_000, DelayFunction: 'constant' }
    await here.register(jobSpec({ Type: 'batch' }, { ReschedulePolicy: policy }))
    const [row] = await placed(here, 1)
    if (row === undefined) throw new Error('none is placed')
    await here.report([row], { clientStatus: 'failed' })
    const followUp = await eventually('an evaluation for later', async () =>
      (await here.evaluations()).find(({ waitUntilMs }) => waitUntilMs > 0),
    )
    return { here, row, followUp }
  }
  const { here, row, followUp } = await failing()
  const failed = here.state.allocation(row.id)
  t.match(failed, { clientStatus: 'failed', followupEval: followUp.id })
  t.match(followUp, { triggeredBy: 'alloc-failure', modifyIndex: failed?.modifyIndex })
  const older = await failing(linkedWorkloadsVersion - 1)
  t.match(older.here.state.allocation(older.row.id), { clientStatus: 'failed', followupEval: '' })
})

t.test('a new version replaces one by one as health is told', async (t) => {
  const here = await running(t)
  await here.state.node(1, roomy)
  const group = { Count: 3, Update: { MaxParallel: 1 } }
  await here.register(jobSpec({}, group))
  const before = await placed(here, 3)
  await here.report(before, { health: { healthy: true, timeMs: 1 } })
  await here.register(jobSpec({ Meta: { a: 'b' } }, group))
  for (let step = 1; step <= 3; step += 1) {
    const fresh = await eventually(`step ${step}`, async () => {
      const rows = (await here.live()).filter(({ jobVersion }) => jobVersion === 1)
      return rows.length === step ? rows : undefined
    })
    await settled(here)
    const old = (await here.live()).filter(({ jobVersion }) => jobVersion === 0)
    t.equal(old.length, 3 - step)
    await here.report(fresh, { health: { healthy: true, timeMs: 2 } })
  }
  t.equal((await here.live()).length, 3)
})

function stopJob(
  here: Pick<Awaited<ReturnType<typeof scheduled>>, 'propose'>,
  more: { readonly skipsDelay?: true; readonly purge?: boolean } = {},
) {
  const about = { namespace: 'default', id: 'job', evaluationId: randomUUID(), nowMs: 1 }
  return here.propose({ type: 'jobs.deregister', args: { ...about, purge: false, ...more } })
}

t.test('a stopped job stops all it has', async (t) => {
  const here = await running(t)
  await here.state.node(1, roomy)
  await here.register(jobSpec({}, { Count: 2 }))
  await placed(here, 2)
  await stopJob(here)
  await placed(here, 0)
  t.ok((await here.allocations()).every(({ desiredStatus }) => desiredStatus === 'stop'))
})

t.test('a job that stops without delays says so of all it has', async (t) => {
  const here = await running(t)
  await here.state.node(1, roomy)
  const hurried = async () => {
    await settled(here)
    const rows = await here.allocations()
    return rows.map(({ desiredStatus, skipsDelay }) => [desiredStatus, skipsDelay])
  }
  await here.register(jobSpec({}, { Count: 1 }))
  await placed(here, 1)
  await stopJob(here)
  t.same(await hurried(), [['stop', undefined]])
  await stopJob(here, { skipsDelay: true, purge: true })
  t.same(await hurried(), [['stop', true]], 'also of what waits for its delays already')
})

t.test('nothing is hurried of a job that is registered again before it stops', async (t) => {
  const here = await scheduled(t)
  await here.state.node(1, roomy)
  const first = here.start()
  await here.register(jobSpec())
  const [row] = await placed(here, 1)
  await first.stop()
  await stopJob(here, { skipsDelay: true })
  await here.register(jobSpec({ Meta: { a: 'b' } }))
  const duty = here.start()
  t.teardown(() => duty.stop())
  await settled(here)
  t.match(here.state.allocation(row?.id ?? ''), { desiredStatus: 'stop' })
  t.notOk(here.state.allocation(row?.id ?? '')?.skipsDelay)
})

t.test('a new leader finds what was pending and what waits', async (t) => {
  const here = await scheduled(t)
  await here.register(jobSpec())
  const first = here.start()
  await eventuallyTrue('it is blocked', async () =>
    (await here.evaluations()).some(({ status }) => status === 'blocked'),
  )
  await first.stop()
  await here.register(jobSpec({ ID: 'second' }))
  await here.state.node(1, roomy)
  t.equal((await here.live()).length, 0)
  const second = here.start()
  t.teardown(() => second.stop())
  await placed(here, 1)
  await placed(here, 1, 'second')
})

t.test('a plan that the newer state refuses is made again', async (t) => {
  const here = await scheduled(t)
  const first = await here.state.node(1, roomy)
  await here.state.node(2, roomy)
  let isLost = false
  here.onPropose = async ({ type }) => {
    if (type !== 'allocations.plan' || isLost) return
    isLost = true
    // As if both nodes had gone between the worker's look and its plan.
    await here.state.status(first, 'down')
  }
  const duty = here.start()
  t.teardown(() => duty.stop())
  await here.register(jobSpec({}, { Count: 4 }))
  const rows = await placed(here, 4)
  t.ok(rows.every(({ nodeId }) => nodeId !== first))
})

t.test(
  'a large plan that is refused in part is followed by the next one, not by its end',
  async (t) => {
    const here = await scheduled(t)
    const large = { cpuMhz: 800_000, memoryMb: 819_200, diskMb: 9_000_000 }
    const vast = { ...able, resources: { ...large, networks: [], nodeNetworks: [] } }
    const first = await here.state.node(1, vast)
    await here.state.node(2, vast)
    await here.register(jobSpec({}, { Count: 300 }))
    const empty: boolean[] = []
    let isLost = false
    here.onPropose = async ({ type, args }) => {
      if (type !== 'allocations.plan') return
      const { place, evaluations } = args as Pick<Plan, 'place' | 'evaluations'>
      if (place.length === 0) empty.push(evaluations.length > 0)
      if (isLost) return
      isLost = true
      await here.state.status(first, 'down')
    }
    const duty = here.start()
    t.teardown(() => duty.stop())
    const rows = await placed(here, 300)
    t.ok(rows.every(({ nodeId }) => nodeId !== first))
    await settled(here)
    t.ok(
      empty.every((ends) => ends),
      'no plan says nothing',
    )
  },
)

t.test('jobs that are registered at once are placed each on its own', async (t) => {
  const here = await running(t)
  for (let number = 1; number <= 5; number += 1) await here.state.node(number, roomy)
  const ids = Array.from({ length: 40 }, (_none, at) => `job-${at}`)
  await Promise.all(ids.map((ID) => here.register(jobSpec({ ID }))))
  for (const id of ids) await placed(here, 1, id)
  await settled(here)
  t.ok((await here.evaluations()).every(({ status }) => status === 'complete'))
})

t.test('workers that read at the same time do not give one place twice', async (t) => {
  const here = await scheduled(t)
  const one = {
    ...able,
    resources: { cpuMhz: 600, memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] },
    reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
  }
  for (let number = 1; number <= 30; number += 1) await here.state.node(number, one)
  const plans: number[] = []
  here.onPropose = ({ type }) => {
    if (type === 'allocations.plan') plans.push(here.state.machine.appliedIndex)
  }
  const ids = Array.from({ length: 30 }, (_none, at) => `job-${at}`)
  for (const ID of ids) await here.register(jobSpec({ ID }))
  const duty = here.start()
  t.teardown(() => duty.stop())
  for (const id of ids) await placed(here, 1, id)
  await settled(here)
  t.equal(plans.length, ids.length, 'no plan was refused, and made again')
})

t.test('workers take the kinds of work that they are set to', async (t) => {
  const here = await running(t)
  await here.state.node(1, roomy)
  here.workers.configure({ count: 8, enabled: ['batch', '_core'] })
  await here.register(jobSpec())
  await here.register(jobSpec({ ID: 'other', Type: 'batch' }))
  await placed(here, 1, 'other')
  t.equal((await here.live()).length, 0)
  here.workers.configure({ count: 8, enabled: ['service', '_core'] })
  await placed(here, 1)
})

t.test(
  'work of lower priority ends for a job that finds no place, and waits for one itself',
  async (t) => {
    const here = await running(t)
    const set = (settings: Partial<SchedulerSettings>) =>
      here.propose({
        type: 'schedulerSettings.set',
        args: { settings: { ...defaultSettings, ...settings }, cas: null },
      })
    await here.state.node(1, {
      ...able,
      resources: { cpuMhz: 1_000, memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] },
      reserved: { cpuMhz: 0, memoryMb: 0, diskMb: 0, ports: '' },
    })
    await here.register(jobSpec({ ID: 'low', Priority: 20 }, { Count: 2 }))
    const low = await placed(here, 2, 'low')
    await here.report(low, { clientStatus: 'running' })
    await here.register(jobSpec({ ID: 'high', Priority: 80 }))
    await eventuallyTrue('it waits', async () =>
      (await here.evaluations()).some(
        ({ jobId, status }) => jobId === 'high' && status === 'blocked',
      ),
    )
    await set({ preemption: { ...defaultSettings.preemption, service: true } })
    const [high] = await placed(here, 1, 'high')
    const [evicted] = low.filter(({ id }) => high?.preempts?.includes(id) === true)
    t.match(here.state.allocation(evicted?.id ?? ''), {
      desiredStatus: 'evict',
      preemptedBy: high?.id,
    })
    const waiting = await eventually('a blocked evaluation of the low job', async () =>
      (await here.evaluations()).find(
        ({ jobId, status }) => jobId === 'low' && status === 'blocked',
      ),
    )
    t.match(here.state.evaluation(waiting.previousEval), { triggeredBy: 'preemption' })
    // The room that it leaves is not its own any more.
    if (evicted !== undefined) await here.report([evicted], { clientStatus: 'complete' })
    await settled(here)
    await placed(here, 1, 'low')
  },
)

t.test('tasks may use more memory than is reserved once the scheduler lets them', async (t) => {
  const here = await running(t)
  const attributes = [[jobMembersAttribute, '12']] as const
  await here.state.node(1, {
    ...roomy,
    attributes: attributes.map(([name, value]) => [name, value]),
  })
  const Resources = { CPU: 100, MemoryMB: 300, MemoryMaxMB: 600 }
  const spec = (ID: string) =>
    jobSpec({ ID }, { Tasks: [{ Name: 't', Driver: 'mock_driver', Resources }] })
  await here.register(spec('before'))
  const [before] = await placed(here, 1, 'before')
  t.strictSame(before?.resources.tasks, [{ task: 't', cpuMhz: 100, memoryMb: 300 }])
  const settings = { ...defaultSettings, oversubscribesMemory: true }
  await here.propose({ type: 'schedulerSettings.set', args: { settings, cas: null } })
  await here.register(spec('after'))
  const [after] = await placed(here, 1, 'after')
  t.strictSame(after?.resources.tasks, [
    { task: 't', cpuMhz: 100, memoryMb: 300, memoryMaxMb: 600 },
  ])
  const unlimited = { ID: 'unlimited' }
  const task = { Name: 't', Driver: 'mock_driver', Resources: { ...Resources, MemoryMaxMB: -1 } }
  await here.register(jobSpec(unlimited, { Tasks: [task] }))
  const [row] = await placed(here, 1, 'unlimited')
  const tasks = [{ task: 't', cpuMhz: 100, memoryMb: 300, memoryMaxMb: memoryUnlimitedMb }]
  t.strictSame(row?.resources.tasks, tasks)
  t.strictSame(tasks.map(askedMemoryMax), [-1], 'it is shown as jobs say it')
})

t.test('a paused scheduler places nothing until it goes on', async (t) => {
  const here = await running(t)
  await here.state.node(1, roomy)
  const set = (pausesEvaluations: boolean) =>
    here.propose({
      type: 'schedulerSettings.set',
      args: { settings: { ...defaultSettings, pausesEvaluations }, cas: null },
    })
  await here.register(jobSpec({ ID: 'before' }))
  await placed(here, 1, 'before')
  await set(true)
  await here.register(jobSpec())
  await here.register(jobSpec({ ID: 'other' }))
  const { index } = await set(false)
  const [one] = await placed(here, 1)
  const [other] = await placed(here, 1, 'other')
  t.ok(Number(one?.createIndex) > index && Number(other?.createIndex) > index)
})
