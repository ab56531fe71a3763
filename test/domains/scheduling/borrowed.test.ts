/** Workers of other servers: they take what the leader's have no room for, and nothing is done twice or lost by them. */
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { lentMs } from '../../../src/domains/scheduling/model.ts'
import { MusterError } from '../../../src/lib/errors.ts'
import { defaultSettings } from '../../../src/domains/scheduler-settings/model.ts'
import { eventually, eventuallyTrue } from '../../support/eventually.ts'
import { driver, jobSpec } from '../../scheduler/cluster.ts'
import { Borrower } from './borrower.ts'
import { scheduled, type Scheduled } from './scheduled.ts'

const roomy = {
  drivers: [driver('mock_driver')],
  resources: {
    cpuMhz: 800_000,
    memoryMb: 819_200,
    diskMb: 900_000,
    networks: [],
    nodeNetworks: [],
  },
}
const types = ['service', 'batch', 'system', 'sysbatch', '_core']
const all = { types, max: 16, waitMs: 0 }
const wanted = new AbortController().signal

/** A leader whose own workers take only what they are told. */
async function leader(t: Test, count = 0): Promise<Scheduled> {
  const here = await scheduled(t)
  here.workers.configure({ count, enabled: types })
  const duty = here.start()
  t.teardown(() => duty.stop())
  await here.state.node(1, roomy)
  return here
}

function borrower(t: Test, here: Scheduled): Borrower {
  const made = new Borrower(here)
  made.start()
  t.teardown(() => made.stop())
  return made
}

function lenderOf({ lending }: Scheduled) {
  if (lending.lender === null) throw new Error('nobody leads')
  return lending.lender
}

function taken(here: Scheduled) {
  return eventually('one is lent', async () => {
    const [one] = (await lenderOf(here).lend(all, wanted)).evaluations
    return one
  })
}

function placed(here: Scheduled, count: number, jobId = 'job') {
  return eventuallyTrue(`${count} allocations of ${jobId}`, async () => {
    return (await here.live(jobId)).length === count
  })
}

t.test('a leader without workers has its evaluations worked on elsewhere', async (t) => {
  const here = await leader(t)
  const { asked } = borrower(t, here)
  const id = await here.register(jobSpec({}, { Count: 3 }))
  await placed(here, 3)
  await eventuallyTrue('it is complete', () => here.state.evaluation(id)?.status === 'complete')
  await eventuallyTrue('it was given back', () => lenderOf(here).lentCount === 0)
  t.ok((asked.get('scheduling.submit') ?? 0) > 0)
})

t.test('what has no place there is blocked, and placed once there is room', async (t) => {
  const here = await leader(t)
  borrower(t, here)
  await here.register(jobSpec({ Datacenters: ['dc2'] }, { Count: 2 }))
  await eventuallyTrue('a blocked evaluation', async () =>
    (await here.evaluations()).some(({ status }) => status === 'blocked'),
  )
  await here.state.node(2, { ...roomy, datacenter: 'dc2' })
  await here.register(jobSpec({ ID: 'other' }, { Count: 1 }))
  await placed(here, 2)
})

t.test('own workers take first; others have what these have no room for', async (t) => {
  const here = await leader(t, 8)
  const { asked } = borrower(t, here)
  await here.register(jobSpec({}, { Count: 2 }))
  await placed(here, 2)
  t.equal(asked.get('scheduling.submit'), undefined)
})

t.test('many jobs, workers everywhere: each has what it asked for, once', async (t) => {
  const here = await leader(t, 4)
  // What the leader's workers have no room for has to wait for a while before it is lent.
  here.onPropose = ({ type }) => (type === 'allocations.plan' ? delay(10) : undefined)
  const [first, second] = [borrower(t, here), borrower(t, here)]
  const ids = Array.from({ length: 120 }, (_, at) => `job${at}`)
  await Promise.all(ids.map((ID) => here.register(jobSpec({ ID }, { Count: 3 }))))
  for (const id of ids) await placed(here, 3, id)
  for (const id of ids) {
    const names = (await here.allocations(id)).map(({ name }) => name)
    t.equal(new Set(names).size, 3, `${id} has no name twice`)
    t.equal(names.length, 3, `${id} has nothing besides`)
  }
  await eventuallyTrue('all were given back', () => lenderOf(here).lentCount === 0)
  t.ok(
    (first.asked.get('scheduling.submit') ?? 0) + (second.asked.get('scheduling.submit') ?? 0) > 0,
  )
})

t.test('a worker that says nothing more loses what it took, and may do no more', async (t) => {
  const here = await leader(t)
  const id = await here.register(jobSpec({}, { Count: 1 }))
  const lost = await taken(here)
  t.equal(lost.id, id)
  t.same((await lenderOf(here).lend(all, wanted)).evaluations, [], 'nobody else has it meanwhile')
  borrower(t, here)
  await eventuallyTrue('another worker has it', async () => (await here.live()).length === 1, {
    timeoutMs: 3 * lentMs,
  })
  const plan = {
    evaluation: id,
    jobModifyIndex: 0,
    place: [],
    update: [],
    stop: [],
    evaluations: [],
    nowMs: 0,
  }
  await t.rejects(lenderOf(here).submit(lost.token, plan), { code: 'conflict' })
  lenderOf(here).end(lost, true)
  t.equal((await here.live()).length, 1)
})

t.test('one that is worked on for long is prolonged', async (t) => {
  const here = await leader(t)
  const lent = borrower(t, here)
  const { promise: held, resolve: release } = Promise.withResolvers<void>()
  let submits = 0
  lent.onAsk = async (method) => {
    if (method !== 'scheduling.submit') return
    submits += 1
    await held
  }
  await here.register(jobSpec({}, { Count: 1 }))
  await eventuallyTrue('it is prolonged', () => lent.asked.has('scheduling.prolong'))
  t.equal(submits, 1)
  release()
  await placed(here, 1)
})

t.test('a worker that fails gives it back, and another one tries', async (t) => {
  const here = await leader(t)
  const lent = borrower(t, here)
  let failures = 0
  lent.onAsk = (method) => {
    if (method !== 'scheduling.submit' || failures >= 2) return
    failures += 1
    throw new Error('a worker that is broken')
  }
  await here.register(jobSpec({}, { Count: 1 }))
  await placed(here, 1)
  t.equal(failures, 2)
})

t.test('workers of other servers follow a new leader', async (t) => {
  const here = await scheduled(t)
  here.workers.configure({ count: 0, enabled: types })
  await here.state.node(1, roomy)
  const before = here.start()
  await here.register(jobSpec({ ID: 'lost' }, { Count: 1 }))
  const lost = await taken(here)
  borrower(t, here)
  await before.stop()
  const after = here.start()
  t.teardown(() => after.stop())
  await placed(here, 1, 'lost')
  lenderOf(here).end(lost, true)
  await here.register(jobSpec({ ID: 'next' }, { Count: 2 }))
  await placed(here, 2, 'next')
  t.equal((await here.live('lost')).length, 1)
})

t.test('a leader that is paused lends nothing', async (t) => {
  const here = await leader(t)
  borrower(t, here)
  const set = (pausesEvaluations: boolean) =>
    here.propose({
      type: 'schedulerSettings.set',
      args: { settings: { ...defaultSettings, pausesEvaluations }, cas: null },
    })
  await set(true)
  const id = await here.register(jobSpec({}, { Count: 1 }))
  t.same((await lenderOf(here).lend({ ...all, waitMs: 300 }, wanted)).evaluations, [])
  t.match(here.state.evaluation(id), { status: 'pending' })
  await set(false)
  await placed(here, 1)
})

t.test('a kind that nobody takes waits at the leader, which is asked no more for it', async (t) => {
  const here = await leader(t)
  const lent = new Borrower(here)
  const { workers, asked } = lent
  workers.configure({ count: 2, enabled: ['batch', '_core'] })
  lent.start()
  t.teardown(() => lent.stop())
  const id = await here.register(jobSpec({}, { Count: 1 }))
  await here.register(jobSpec({ ID: 'batch', Type: 'batch' }, { Count: 1 }))
  await placed(here, 1, 'batch')
  t.match(here.state.evaluation(id), { status: 'pending' })
  t.ok((asked.get('scheduling.lend') ?? 0) <= 3)
  workers.configure({ count: 2, enabled: types })
  await placed(here, 1)
})

t.test('a server that stops gives back what it has, for another to take at once', async (t) => {
  const here = await leader(t)
  const leaving = new Borrower(here)
  const stopped = new Promise<void>((resolve, reject) => {
    leaving.onAsk = (method) => {
      if (method !== 'scheduling.submit') return
      leaving.stop().then(resolve, reject)
      throw new MusterError('cancelled', 'this server stops')
    }
  })
  leaving.start()
  await here.register(jobSpec({}, { Count: 3 }))
  await stopped
  t.equal(lenderOf(here).lentCount, 0)
  const startMs = performance.now()
  borrower(t, here)
  await placed(here, 3)
  t.ok(performance.now() - startMs < lentMs, 'no loan had to lapse')
})
