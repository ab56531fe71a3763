/** The count of a group is changed, and what was asked of it is kept. */
import t from 'tap'
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
