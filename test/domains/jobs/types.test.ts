/** A job keeps its type for as long as it is there. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'
import { completed, jobWith } from './job-drafts.ts'
import { register } from './registered.ts'

const system = jobWith({ Type: 'system' })
const refused = {
  status: 400,
  body: /^cannot update job from type "service" to "system": purge it first, or choose another ID$/,
}

t.test('another type is refused, registered, planned or stopped before', async (t) => {
  const server = await serverOfOne(t)
  const put = (path: string, job = system) => server.ask('PUT', path, { Job: job })
  t.equal((await put('/v1/jobs', jobWith())).status, 200)
  t.match(await put('/v1/jobs'), refused)
  t.match(await put('/v1/job/web/plan'), refused)
  await server.ask('DELETE', '/v1/job/web')
  t.match(await put('/v1/jobs'), refused, 'it is there, although it is stopped')
  t.equal((await put('/v1/jobs', jobWith({ Priority: 70 }))).status, 200)
  await server.ask('DELETE', '/v1/job/web?purge=true')
  t.equal((await put('/v1/job/web/plan')).status, 200)
  t.equal((await put('/v1/jobs')).status, 200)
})

t.test('a job does not go back to a version of another type', async (t) => {
  const server = await serverOfOne(t)
  await register(server)
  // As a server let it through before.
  await register(server, completed(system), { type: 'system' })
  const answer = await server.ask('PUT', '/v1/job/web/revert', { JobVersion: 0 })
  t.match(answer, { status: 400, body: /^cannot update job from type "system" to "service"/ })
})
