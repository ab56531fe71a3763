/** What takes a leader and followers: forwarding, reads that wait at another server, streams between servers. */
import t from 'tap'
import { serverOfThree } from '../support/server-of-three.ts'

void t.test('a write goes through a follower, and readers at all servers see it', async (t) => {
  const servers = await serverOfThree(t)
  const leader = servers.http(await servers.waitForLeader())
  const follower = servers.http(await servers.follower())
  const put = await follower.request('PUT', '/v1/kv/a', { body: 'one' })
  t.equal(put.body.toString(), 'true')
  for (const at of servers.all) {
    const { body } = await servers.http(at).request('GET', '/v1/kv/a?raw&consistent')
    t.equal(body.toString(), 'one')
  }

  const before = await follower.request('GET', '/v1/kv/a?raw')
  const index = String(before.headers['x-service-index'])
  const waiting = follower.request('GET', `/v1/kv/a?raw&index=${index}&wait=30s`)
  t.equal((await leader.request('PUT', '/v1/kv/a', { body: 'two' })).status, 200)
  t.equal((await waiting).body.toString(), 'two', 'a query that waits at a follower is woken')

  const refused = await follower.request('PUT', '/v1/session/create', { body: '{"TTL":"1ms"}' })
  t.equal(refused.status, 400, 'a refusal of the leader comes back as it is')
  const named = await follower.request('GET', '/v1/agent/health?server_id=leader')
  t.equal(named.status, 200)
})
