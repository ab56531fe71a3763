/** What Nomad's clients send for access control and is not served: they are told, and nothing is dropped in silence. */
import t from 'tap'
import { serverOfOne } from '../server-of-one.ts'

t.test('a policy that is bound to a job is refused', async (t) => {
  const server = await serverOfOne(t, { acl: { enabled: true } })
  const first = await server.ask('PUT', '/v1/acl/bootstrap')
  const { SecretID: root } = first.json() as { SecretID: string }
  const write = (JobACL?: unknown) => {
    const body = { Rules: 'node { policy = "read" }', JobACL }
    return server.ask('PUT', '/v1/acl/policy/app', body, root)
  }
  const none = { Namespace: '', JobID: '', Group: '', Task: null }
  for (const job of [undefined, null, {}, none]) t.equal((await write(job)).status, 200)
  for (const job of [
    { Namespace: 'default', JobID: 'web' },
    { ...none, Task: 't' },
  ]) {
    const answer = await write(job)
    t.equal(answer.status, 400)
    t.match(answer.body, /^JobACL is not served: .*leave it out/)
  }
  t.match((await write('web')).body, /JobACL must be/)
})

t.test('one-time tokens are not served', async (t) => {
  const server = await serverOfOne(t)
  for (const headers of [{}, { 'x-service-dialect': 'consul' }]) {
    for (const path of ['onetime', 'onetime/exchange']) {
      for (const method of ['PUT', 'POST']) {
        const url = `/v1/acl/token/${path}`
        const answer = await server.ask(method, url, {}, undefined, headers)
        t.equal(answer.status, 501, `${method} ${url}`)
        t.match(answer.body, /one-time tokens are not served/)
      }
    }
  }
})
