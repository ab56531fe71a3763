/** The scheduler's configuration over HTTP. */
import t from 'tap'
import { oversubscriptionVersion } from '../../../src/domains/scheduler-settings/model.ts'
import { guarded } from '../jobs/guarded.ts'
import { jobWith } from '../jobs/job-drafts.ts'
import { serverOfOne } from '../server-of-one.ts'

const path = '/v1/operator/scheduler/configuration'

t.test('the configuration has defaults, is replaced whole, and keeps to cas', async (t) => {
  const server = await serverOfOne(t)
  const read = async () => (await server.ask('GET', path)).json()
  t.same(await read(), {
    SchedulerConfig: {
      SchedulerAlgorithm: 'binpack',
      PreemptionConfig: {
        SystemSchedulerEnabled: true,
        SysBatchSchedulerEnabled: false,
        BatchSchedulerEnabled: false,
        ServiceSchedulerEnabled: false,
      },
      RejectJobRegistration: false,
      PauseEvalBroker: false,
      MemoryOversubscriptionEnabled: false,
      CreateIndex: 0,
      ModifyIndex: 0,
    },
    Index: 0,
  })
  const first = await server.ask('PUT', `${path}?cas=0`, {
    SchedulerAlgorithm: 'spread',
    PreemptionConfig: { ServiceSchedulerEnabled: true },
    MemoryOversubscriptionEnabled: true,
  })
  t.match([first.status, first.json()], [200, { Updated: true }])
  t.match((await server.ask('PUT', `${path}?cas=0`, {})).json(), { Updated: false })
  t.match(await read(), {
    SchedulerConfig: {
      SchedulerAlgorithm: 'spread',
      PreemptionConfig: { ServiceSchedulerEnabled: true, SystemSchedulerEnabled: true },
      PauseEvalBroker: false,
      MemoryOversubscriptionEnabled: true,
    },
  })
  await server.ask('PUT', path, {})
  t.match(await read(), { SchedulerConfig: { MemoryOversubscriptionEnabled: false } })
})

t.test('what cannot be is refused', async (t) => {
  const server = await serverOfOne(t)
  const rows = [
    [{ SchedulerAlgorithm: 'tidy' }, 400],
    [{ SchedulerAlgorithm: 1 }, 400],
    [{ PreemptionConfig: [] }, 400],
    [{ PreemptionConfig: { BatchSchedulerEnabled: 'yes' } }, 400],
    [{ PauseEvalBroker: 'yes' }, 400],
    [{ MemoryOversubscriptionEnabled: 'yes' }, 400],
  ] as const
  for (const [body, status] of rows) {
    t.equal((await server.ask('PUT', path, body)).status, status, JSON.stringify(body))
  }
})

t.test('oversubscription waits until every server knows it', async (t) => {
  const server = await serverOfOne(t, { commandVersion: oversubscriptionVersion - 1 })
  const body = { SchedulerAlgorithm: 'spread', MemoryOversubscriptionEnabled: true }
  const refused = await server.ask('PUT', path, body)
  t.match(
    [refused.status, refused.body],
    [501, /MemoryOversubscriptionEnabled needs this version of every server: upgrade the others/],
  )
  const unset = { SchedulerConfig: { SchedulerAlgorithm: 'binpack', ModifyIndex: 0 } }
  t.match((await server.ask('GET', path)).json(), unset, 'nothing is proposed')
  await server.propose({ type: 'state.raiseVersion', args: { version: oversubscriptionVersion } })
  t.equal((await server.ask('PUT', path, body)).status, 200)
  t.match((await server.ask('GET', path)).json(), {
    SchedulerConfig: { SchedulerAlgorithm: 'spread', MemoryOversubscriptionEnabled: true },
  })
})

t.test('operators alone register, dispatch and scale while that is so', async (t) => {
  const { server, admin, tokenWith } = await guarded(t)
  const job = { Job: jobWith({ ID: 'web' }) }
  const token = await tokenWith('submit-job', 'scale-job', 'dispatch-job', 'read-job')
  const register = (as: string) => server.ask('PUT', '/v1/jobs', job, as)
  t.equal((await register(token)).status, 200)
  await server.ask('PUT', path, { RejectJobRegistration: true }, admin)
  const refused = await register(token)
  t.equal(refused.status, 403)
  t.match(refused.body, /disabled by the scheduler configuration/)
  const scaling = { Target: { Group: 'g' }, Count: 2 }
  t.equal((await server.ask('PUT', '/v1/job/web/scale', scaling, token)).status, 403)
  t.equal((await server.ask('PUT', '/v1/job/web/dispatch', {}, token)).status, 403)
  t.equal((await register(admin)).status, 200)
  t.equal((await server.ask('DELETE', '/v1/job/web', undefined, token)).status, 200)
  await server.ask('PUT', path, {}, admin)
  t.equal((await register(token)).status, 200)
})
