/** Periodic jobs: the leader starts a job of each at its times, and a new leader goes on where the last one stopped. */
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { serverOfOne } from '../server-of-one.ts'
import { guarded } from './guarded.ts'
import { jobWith, type Json } from './job-drafts.ts'

const minute = 60_000
const startMs = Date.UTC(2026, 2, 1, 12, 0, 30)

function nightly(periodic: Json = {}): Json {
  return jobWith({ ID: 'tick', Type: 'batch', Periodic: { Spec: '* * * * *', ...periodic } })
}

async function periodic(t: Test, job: Json = nightly(), beginMs = startMs) {
  let wrongMs = 0
  const manual = manualClock(beginMs)
  const clock = { ...manual, wallMs: () => manual.wallMs() + wrongMs }
  const server = await serverOfOne(t, { clock, requestClock: clock })
  let duty = server.startDuty('launches')
  t.teardown(() => duty.stop())
  const register = async (changed: Json) => {
    const answer = await server.ask('PUT', '/v1/jobs', { Job: changed })
    t.equal(answer.status, 200, answer.body)
  }
  await register(job)
  const ids = async (): Promise<readonly string[]> => {
    const rows = (await server.ask('GET', '/v1/jobs?filter=ParentID+==+tick')).json()
    return (rows as readonly { readonly ID: string }[]).map(({ ID }) => ID)
  }
  return {
    server,
    register,
    ids,
    force: () => server.ask('PUT', '/v1/job/tick/periodic/force'),
    /** Time passes until so many were started in all. */
    passUntil: async (ms: number, count: number) => {
      let left = ms
      await eventuallyTrue(
        `${count} jobs were started`,
        async () => {
          const step = Math.min(left, 10_000)
          clock.advance(left > 0 ? step : 100)
          left -= step
          return left <= 0 && (await ids()).length === count
        },
        // Hours may have to pass.
        { everyMs: 5 },
      )
    },
    /** The process does nothing meanwhile. */
    holdUp: (ms: number) => manual.advance(ms),
    /** While `ms` pass none leads. */
    newLeader: async (ms: number) => {
      await duty.stop()
      clock.advance(ms)
      duty = server.startDuty('launches')
    },
    nowMs: () => clock.wallMs(),
    /** The wall clock is ahead by so much from now on. */
    setWrong: (ms: number) => {
      wrongMs = ms
    },
  }
}

function idAt(ms: number): string {
  return `tick/periodic-${ms / 1_000}`
}

const first = Date.UTC(2026, 2, 1, 12, 1)

t.test('a job is started at each of its times', async (t) => {
  const { server, passUntil, ids } = await periodic(t)
  t.same(await ids(), [])
  await passUntil(3 * minute, 3)
  t.same(await ids(), [idAt(first), idAt(first + minute), idAt(first + 2 * minute)])
  const path = `/v1/job/${encodeURIComponent(idAt(first))}`
  t.match((await server.ask('GET', path)).json(), {
    ParentID: 'tick',
    Dispatched: false,
    Periodic: null,
    Status: 'pending',
  })
  t.match((await server.ask('GET', `${path}/evaluations`)).json(), [
    { TriggeredBy: 'periodic-job' },
  ])
  t.match((await server.ask('GET', '/v1/job/tick/summary')).json(), { Children: { Pending: 3 } })
})

t.test('several schedules, in a time zone', async (t) => {
  const Specs = ['5 13 * * *', '7 13 * * *']
  const { passUntil, ids } = await periodic(
    t,
    nightly({ Spec: '', Specs, TimeZone: 'Europe/Berlin' }),
  )
  await passUntil(10 * minute, 2)
  t.same(await ids(), [idAt(first + 4 * minute), idAt(first + 6 * minute)])
})

t.test('where the clocks are put back, each time has a launch of its own', async (t) => {
  const Periodic = { Spec: '*/30 * * * *', TimeZone: 'Europe/Berlin' }
  // They go from 3 to 2 at 1:00.
  const half = Date.UTC(2026, 9, 25, 0, 30)
  const { passUntil, ids } = await periodic(t, nightly(Periodic), half - minute)
  await passUntil(122 * minute, 5)
  t.same(
    await ids(),
    [0, 1, 2, 3, 4].map((at) => idAt(half + at * 30 * minute)),
  )
})

t.test('what was missed while none led is started once, and then it goes on', async (t) => {
  const { passUntil, newLeader, ids, nowMs } = await periodic(t)
  await passUntil(minute, 1)
  await newLeader(10 * minute)
  const lateMs = nowMs()
  await passUntil(0, 2)
  const [, second = ''] = await ids()
  t.ok(Number(second.split('-')[1]) * 1_000 >= lateMs - 1_000, 'with the time at which it was')
  await passUntil(2 * minute, 4)
})

t.test('a new leader starts nothing again', async (t) => {
  const { passUntil, newLeader } = await periodic(t)
  await passUntil(minute, 1)
  await newLeader(0)
  await passUntil(1_000, 1)
  await passUntil(minute, 2)
})

t.test('a clock that was ahead for a moment does not stop jobs for as long', async (t) => {
  const { passUntil, holdUp, newLeader, setWrong, ids, nowMs } = await periodic(t)
  await passUntil(minute, 1)
  // What it missed is made up for, and one is launched at its time by this clock.
  setWrong(9.5 * minute)
  await passUntil(minute + 10_000, 3)
  const [, late = '', early] = await ids()
  const earlyMs = first + 11 * minute
  t.equal(early, idAt(earlyMs))
  setWrong(0)
  const expected = [...(await ids())]
  for (let at = 0; nowMs() < earlyMs + 2 * minute; at += 1) {
    const id = idAt(Math.ceil(nowMs() / minute) * minute)
    // What was launched is not launched again.
    if (id !== early) expected.push(id)
    // Over ten seconds late, from when on a launch has the time at which it is made.
    else holdUp(40_000)
    await passUntil(id === early ? 20_000 : minute, expected.length)
    if (at === 4) await newLeader(0)
  }
  t.same(await ids(), expected.toSorted())
  t.ok(expected.length > 12)
  t.ok(expected.includes(late))
})

t.test('overlaps are prohibited also after a clock that was ahead', async (t) => {
  const { server, passUntil, setWrong, ids } = await periodic(t, nightly({ ProhibitOverlap: true }))
  setWrong(60 * minute)
  await passUntil(minute, 1)
  setWrong(0)
  await passUntil(3 * minute, 1)
  const [id = ''] = await ids()
  await server.ask('DELETE', `/v1/job/${encodeURIComponent(id)}?purge=true`)
  await passUntil(minute, 1)
  const [next = ''] = await ids()
  t.ok(next < id, 'the next time of the clock that is right')
})

t.test('while an earlier launch runs, none is made where overlaps are prohibited', async (t) => {
  const { server, passUntil, ids, force } = await periodic(t, nightly({ ProhibitOverlap: true }))
  await passUntil(4 * minute, 1)
  t.match(await force(), { status: 409, body: /an earlier launch of job "tick" runs/ })
  const [id = ''] = await ids()
  await server.ask('DELETE', `/v1/job/${encodeURIComponent(id)}?purge=true`)
  await passUntil(minute, 1)
  t.not((await ids())[0], id)
})

t.test('a launch of the same job before its purge is an earlier one, too', async (t) => {
  const job = nightly({ ProhibitOverlap: true })
  const { server, register, passUntil, ids, force, nowMs } = await periodic(t, job)
  await passUntil(minute, 1)
  const [id = ''] = await ids()
  await server.ask('DELETE', '/v1/job/tick?purge=true')
  await register(job)
  await passUntil(4 * minute, 1)
  t.match(await force(), { status: 409, body: /an earlier launch of job "tick" runs/ })
  const overMs = nowMs()
  await server.ask('DELETE', `/v1/job/${encodeURIComponent(id)}?purge=true`)
  await passUntil(minute, 1)
  const [next = ''] = await ids()
  t.ok(Number(next.split('-')[1]) * 1_000 > overMs, 'what was left out is not made up for')
  t.match(await force(), { status: 409, body: /an earlier launch/ }, 'its own one counts')
})

t.test('a job that is stopped, purged or switched off is not started', async (t) => {
  const { server, register, passUntil } = await periodic(t)
  await passUntil(minute, 1)
  t.match((await server.ask('DELETE', '/v1/job/tick')).json(), { EvalID: '' })
  await passUntil(3 * minute, 1)
  await register(nightly())
  await passUntil(minute, 2)
  await register(nightly({ Enabled: false }))
  await passUntil(3 * minute, 2)
  await register(nightly())
  await server.ask('DELETE', '/v1/job/tick?purge=true')
  await passUntil(3 * minute, 2)
})

t.test('a new leader looks into many schedules in turns', async (t) => {
  const Specs = Array.from({ length: 64 }, (_, at) => `${at % 60} ${at % 24} 30 2 *`)
  const { server, register, newLeader } = await periodic(t, nightly({ Spec: '', Specs }))
  for (let count = 0; count < 12; count += 1) {
    await register({ ...nightly({ Spec: '', Specs }), ID: `never-${count}` })
  }
  const looked = t.capture(
    Intl.DateTimeFormat.prototype,
    'formatToParts',
    Object.getOwnPropertyDescriptor(Intl.DateTimeFormat.prototype, 'formatToParts')?.value,
  )
  const leading = newLeader(0)
  const perTurn: number[] = []
  // Each turn is seen: nothing else is waited for in between.
  const untilMs = performance.now() + 30_000
  for (let all = 0; all < 13 * 64 && performance.now() < untilMs;) {
    await setImmediate()
    const count = looked().length
    perTurn.push(count)
    all += count
  }
  await leading
  t.ok(Math.max(...perTurn) <= 2 * 64, 'others have their turns between')
  t.match((await server.ask('GET', '/v1/job/tick')).status, 200)
})

t.test('another schedule counts from its registration', async (t) => {
  const { register, passUntil, ids } = await periodic(t, nightly({ Spec: '0 0 1 1 *' }))
  await passUntil(10 * minute, 0)
  await register(nightly({ Spec: '15 * * * *' }))
  await passUntil(10 * minute, 1)
  t.same(await ids(), [idAt(first + 14 * minute)])
})

t.test('one is started by hand, whatever the schedule', async (t) => {
  const { server, force, ids } = await periodic(t, nightly({ Spec: '0 0 1 1 *' }))
  const answer = await force()
  t.match(answer.json(), { EvalID: /./ }, answer.body)
  t.same(await ids(), [idAt(startMs)])
  t.match(await force(), { status: 409, body: /was started in this second already/ })
  await server.ask('PUT', '/v1/jobs', { Job: jobWith() })
  t.match(await server.ask('PUT', '/v1/job/web/periodic/force'), {
    status: 400,
    body: /"web" is not periodic/,
  })
  t.equal((await server.ask('PUT', '/v1/job/no/periodic/force')).status, 404)
})

t.test('a parameterized job has each dispatched job start its own, by time', async (t) => {
  const ParameterizedJob = { MetaRequired: ['input'] }
  const { server, passUntil, force, newLeader } = await periodic(t, {
    ...nightly(),
    ParameterizedJob,
  })
  const idsBelow = async (id: string) => {
    const filter = encodeURIComponent(`ParentID == "${id}"`)
    const rows = (await server.ask('GET', `/v1/jobs?filter=${filter}`)).json()
    return (rows as readonly { readonly ID: string }[]).map(({ ID }) => ID)
  }
  const launchesOf = async (id: string, count: number) => {
    await eventuallyTrue(`${id} started ${count} jobs`, async () => {
      return (await idsBelow(id)).length === count
    })
    return idsBelow(id)
  }
  const read = async (id: string, more = '') =>
    (await server.ask('GET', `/v1/job/${encodeURIComponent(id)}${more}`)).json()
  await passUntil(2 * minute, 0)
  t.match(await force(), { status: 400, body: /"tick" is parameterized: dispatch it/ })

  const body = { Meta: { input: 'a' }, Payload: 'aGVsbG8=' }
  const dispatched = (await server.ask('PUT', '/v1/job/tick/dispatch', body)).json()
  t.match(dispatched, { EvalID: '', EvalCreateIndex: 0, DispatchedJobID: /^tick\/dispatch-/ })
  const { DispatchedJobID: id } = dispatched as { readonly DispatchedJobID: string }
  t.match(await read(id), { ParentID: 'tick', Dispatched: true, Status: 'running', Payload: /./ })
  t.match(await read('tick', '/summary'), { Children: { Running: 1 } })
  t.match((await server.ask('GET', '/v1/jobs')).json(), [
    { ID: 'tick', Periodic: true, ParameterizedJob: true },
    { ID: id, Periodic: true, ParameterizedJob: false },
  ])
  await passUntil(2 * minute, 1)
  const [launch = ''] = await launchesOf(id, 2)
  t.match(launch, new RegExp(`^${id}/periodic-\\d{10}$`))
  t.match(await read(launch), {
    ParentID: id,
    Dispatched: true,
    Periodic: null,
    Status: 'pending',
    Meta: { input: 'a' },
    Payload: 'aGVsbG8=',
  })
  t.match(await read(id, '/summary'), { Children: { Pending: 2, Running: 0, Dead: 0 } })
  const again = await server.ask('PUT', `/v1/job/${encodeURIComponent(id)}/dispatch`, body)
  t.match(again, { status: 400, body: /is not parameterized/ })

  await newLeader(0)
  await passUntil(minute, 1)
  await launchesOf(id, 3)
  const forced = await server.ask('PUT', `/v1/job/${encodeURIComponent(id)}/periodic/force`)
  t.match(forced.json(), { EvalID: /./ }, forced.body)
  t.equal((await idsBelow(id)).length, 4)
  t.match((await server.ask('DELETE', `/v1/job/${encodeURIComponent(id)}`)).json(), { EvalID: '' })
  t.match(await read('tick', '/summary'), { Children: { Running: 0, Dead: 1 } })
  await passUntil(3 * minute, 1)
  t.equal((await idsBelow(id)).length, 4, 'stopped')
  const plan = { Job: { ...nightly(), ParameterizedJob }, Diff: false }
  t.match((await server.ask('PUT', '/v1/job/tick/plan', plan)).json(), {
    NextPeriodicLaunch: /^0001-/,
  })
})

t.test('to start one by hand needs submit-job', async (t) => {
  const { server, admin, tokenWith } = await guarded(t)
  await server.ask('PUT', '/v1/jobs', { Job: nightly({ Spec: '0 0 1 1 *' }) }, admin)
  const statusWith = async (capability: string) =>
    (await server.ask('PUT', '/v1/job/tick/periodic/force', undefined, await tokenWith(capability)))
      .status
  t.equal(await statusWith('dispatch-job'), 403)
  t.equal(await statusWith('submit-job'), 200)
})
