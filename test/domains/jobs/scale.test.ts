/** The count of a group is changed, and what was asked of it is kept. */
import t, { type Test } from 'tap'
import { scaleMethods } from '../../../src/domains/jobs/scale-methods.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLogger } from '../../../src/lib/log.ts'
import { allowAll } from '../../../src/rpc/authorizer.ts'
import { replay } from '../../../src/rpc/replay.ts'
import { idOf, served } from '../allocations/workloads.ts'
import { serverOfOne } from '../server-of-one.ts'
import { guarded } from './guarded.ts'
import { completed, jobWith, type Json } from './job-drafts.ts'
import { register } from './registered.ts'

async function registered(t: Parameters<typeof serverOfOne>[0], job: Json = jobWith()) {
  const server = await serverOfOne(t)
  await server.ask('PUT', '/v1/jobs', { Job: job })
  return {
    server,
    scale: (body: Json) =>
      server.ask('PUT', '/v1/job/web/scale', { Target: { Group: 'g' }, ...body }),
    read: async (path = ''): Promise<Json> =>
      (await server.ask('GET', `/v1/job/web${path}`)).json() as Json,
  }
}

t.test('a count is changed: a new version, an evaluation, and an event', async (t) => {
  const { server, scale, read } = await registered(t)
  const answer = await scale({ Count: 3, Message: 'load', Meta: { cpu: 0.9 } })
  t.equal(answer.status, 200, answer.body)
  const { EvalID } = answer.json() as { readonly EvalID: string }
  t.match((await server.ask('GET', `/v1/evaluation/${EvalID}`)).json(), {
    TriggeredBy: 'job-scaling',
  })
  t.match(await read(), { Version: 1, TaskGroups: [{ Count: 3 }] })
  t.match(await read('/scale'), {
    JobID: 'web',
    JobStopped: false,
    TaskGroups: {
      g: {
        Desired: 3,
        Placed: 0,
        Running: 0,
        Events: [
          { Count: 3, PreviousCount: 1, Error: false, Message: 'load', Meta: { cpu: 0.9 }, EvalID },
        ],
      },
    },
  })
})

t.test('without a count only the event is kept, of which there are ten', async (t) => {
  const { server, scale, read } = await registered(t)
  const answer = await scale({ Error: true, Message: 'no data' })
  t.match(answer.json(), { EvalID: '', EvalCreateIndex: 0 })
  t.match(await read(), { Version: 0 })
  t.match(await read('/scale'), { TaskGroups: { g: { Events: [{ Count: null, Error: true }] } } })
  for (let time = 0; time < 12; time += 1) await scale({ Message: String(time) })
  const { TaskGroups } = (await read('/scale')) as {
    readonly TaskGroups: {
      readonly g: { readonly Events: readonly { readonly Message: string }[] }
    }
  }
  t.equal(TaskGroups.g.Events.length, 10)
  t.equal(TaskGroups.g.Events[0]?.Message, '11')
  await server.ask('DELETE', '/v1/job/web?purge=true')
  await server.ask('PUT', '/v1/jobs', { Job: jobWith() })
  t.match(await read('/scale'), { TaskGroups: { g: { Events: [] } } }, 'purged with the job')
})

const refusals: readonly (readonly [body: Json, status: number, text: RegExp])[] = [
  [{ Count: -1 }, 400, /Count must be from 0/],
  [{ Count: 2, Target: {} }, 400, /Target.Group is missing/],
  [{ Count: 2, Target: { Group: 'no' } }, 400, /job "web" has no group "no"/],
  [{ Count: 2, Error: true }, 400, /Count must be absent where Error is true/],
  [{ Count: 2, EnforceIndex: true, JobModifyIndex: 1 }, 409, /the job is at JobModifyIndex/],
  [{ Meta: [] }, 400, /Meta must be an object/],
  [{ Message: 'x'.repeat(1_025) }, 413, /Message has over 1024 letters/],
]

t.test('what cannot be done is refused', async (t) => {
  const { server, scale, read } = await registered(t)
  for (const [body, status, text] of refusals) {
    t.match(await scale(body), { status, body: text })
  }
  t.match(await read(), { Version: 0 })
  t.equal((await server.ask('PUT', '/v1/job/no/scale', { Target: { Group: 'g' } })).status, 404)
  t.equal((await server.ask('GET', '/v1/job/no/scale')).status, 404)
  await server.ask('DELETE', '/v1/job/web')
  t.match(await scale({ Count: 2 }), { status: 400, body: /"web" is stopped/ })
})

t.test('a job that was registered before a rule that it breaks is scaled', async (t) => {
  const server = await serverOfOne(t)
  await register(server, completed(jobWith({}, {}, { KillSignal: 'SIGFOO' })))
  const body = { Target: { Group: 'g' }, Count: 2 }
  const answer = await server.ask('PUT', '/v1/job/web/scale', body)
  t.equal(answer.status, 200, answer.body)
  const more = await server.ask('PUT', '/v1/job/web/scale', { ...body, Count: 50_001 })
  t.match(more, { status: 400, body: /^TaskGroups have a Count of 50001 together: at most 50000/ })
})

t.test('a system job runs once on each node', async (t) => {
  const { scale } = await registered(t, jobWith({ Type: 'system' }))
  t.match(await scale({ Count: 2 }), { status: 400, body: /must be 0 or 1/ })
})

/** A job whose version is being deployed. */
async function deploying(t: Test) {
  const { server, here } = await served(t)
  const job = await here.plant()
  const id = idOf('depl', 0)
  const rules = { autoRevert: false, autoPromote: false, progressDeadlineMs: 60_000 }
  const group = { group: 'g', ...rules, desiredCanaries: 1, desiredTotal: 2 }
  await here.plan(job, { deployment: { id, groups: [group] } })
  const change = (word: string, body: Json = {}) =>
    server.ask('PUT', `/v1/deployment/${word}/${id}`, body)
  return { server, here, change }
}

t.test(
  'while a deployment goes on a count is refused in words that autoscalers know',
  async (t) => {
    const { server, here, change } = await deploying(t)
    const scale = (body: Json) =>
      server.ask('PUT', '/v1/job/web/scale', { Target: { Group: 'g' }, ...body })
    const refused = { status: 400, body: /^job scaling blocked due to active deployment$/ }
    t.match(await scale({ Count: 3 }), refused)
    t.match(await scale({ Count: 1 }), refused, 'also the one that it has')
    t.match(await scale({ Count: 3, PolicyOverride: true }), refused)
    t.equal((await change('pause', { Pause: true })).status, 200)
    t.match(await scale({ Count: 3 }), refused, 'paused, it may go on')
    t.equal(here.job()?.version, 0)
    t.equal((await scale({ Message: 'only said' })).status, 200)
    t.equal((await change('fail')).status, 200)
    t.equal((await scale({ Count: 3 })).status, 200, 'it is over')
    t.equal(here.job()?.version, 1)
  },
)

t.test('a scaling that led to a deployment is answered again', async (t) => {
  const { server, here } = await deploying(t)
  const outcome = { type: 'scaled', row: here.job(), evaluation: null }
  const answer = replay(
    {
      clock: systemClock,
      log: silentLogger,
      state: server.machine,
      authorizer: allowAll,
      services: server.services,
    },
    {
      method: scaleMethods.scale,
      args: {
        namespace: 'default',
        id: 'web',
        group: 'g',
        count: 1,
        error: false,
        message: '',
        meta: '',
        enforceIndex: null,
      },
      caller: { token: null, remote: '', requestId: '' },
      signal: new AbortController().signal,
      parts: [{ name: 'w', type: 'jobs.scale', index: 9, outcome }],
    },
  )
  t.match(await answer, { index: 9, evaluation: '' })
})

const rights: readonly (readonly [capability: string, write: number, read: number])[] = [
  ['scale-job', 200, 403],
  ['submit-job', 200, 403],
  ['read-job-scaling', 403, 200],
  ['read-job', 403, 200],
  ['list-jobs', 403, 403],
]

t.test('the rights are scale-job and read-job-scaling', async (t) => {
  const { server, admin, tokenWith } = await guarded(t)
  await server.ask('PUT', '/v1/jobs', { Job: jobWith() }, admin)
  for (const [capability, write, read] of rights) {
    const token = await tokenWith(capability)
    const body = { Count: 2, Target: { Group: 'g' } }
    t.equal((await server.ask('PUT', '/v1/job/web/scale', body, token)).status, write, capability)
    t.equal(
      (await server.ask('GET', '/v1/job/web/scale', undefined, token)).status,
      read,
      capability,
    )
  }
})
