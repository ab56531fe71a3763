/** Pools with others in them: another cluster, an agent of serf. */
import t from 'tap'
import { serfMissing, startSerf } from '../gossip/wire/serf-agent.ts'
import { startCluster } from '../support/cluster.ts'
import { detection, eventuallyTrue } from '../support/eventually.ts'
import { forceLeave, peers, statusOf, voters } from '../support/members.ts'

const timeoutMs = 10_000

void t.test('clusters of two regions that meet stay two', async (t) => {
  const one = await startCluster(t, { servers: 1, gossip: true })
  const two = await startCluster(t, { servers: 1, gossip: true, config: { region: 'far' } })
  const address = `127.0.0.1:${one.server(0).spec.ports.gossip}`
  const path = `/v1/agent/join?address=${address}`
  t.same(await two.http(0).json('PUT', path, { timeoutMs }), { num_joined: 1, error: '' })
  await eventuallyTrue(
    'each sees the other',
    async () =>
      (await statusOf(one, 0, 's1.far')) === 'alive' &&
      (await statusOf(two, 0, 's1.global')) === 'alive',
  )
  const newcomer = await one.add()
  await eventuallyTrue(
    'a newcomer joins those of its region',
    async () => (await voters(one, 0)) === 's1 s2',
  )
  t.equal(await voters(two, 0), 's1')
  t.equal((await statusOf(two, 0, `s${newcomer + 1}.global`)) === 'unknown', false)
  const ids = [await peers(one, 0), await peers(two, 0)].flat().map(({ ID }) => ID)
  t.equal(new Set(ids).size, 3)
})

void t.test('a serf agent is listed and disturbs nothing', { skip: serfMissing }, async (t) => {
  const key = Buffer.alloc(32, 7)
  const encrypt = key.toString('base64')
  const cluster = await startCluster(t, { servers: 1, gossip: true, server: { encrypt } })
  const tags = ['role=muster', 'region=global', 'expect=3', 'port=1']
  const guest = await startSerf('guest.global', { key, tags })
  t.teardown(() => guest.stop())
  const join = `/v1/agent/join?address=127.0.0.1:${guest.port}`
  await eventuallyTrue('the pools meet', async () => {
    const answer = await cluster.http(0).json('PUT', join, { timeoutMs })
    return (answer as { readonly num_joined: number }).num_joined === 1
  })
  await eventuallyTrue(
    'it is listed alive',
    async () => (await statusOf(cluster, 0, 'guest.global')) === 'alive',
  )
  const keys = await cluster.http(0).json('GET', '/v1/operator/gossip/keyring', { timeoutMs })
  t.match(keys, { Keys: { [encrypt]: 2 }, NumNodes: 2, Messages: {} })
  t.equal(await voters(cluster, 0), 's1')
  await guest.stop()
  await eventuallyTrue(
    'it is failed',
    async () => (await statusOf(cluster, 0, 'guest.global')) === 'failed',
    detection,
  )
  t.equal(await forceLeave(cluster, 0, 'guest'), 200)
  await eventuallyTrue(
    'it has left',
    async () => (await statusOf(cluster, 0, 'guest.global')) === 'left',
  )
  const health = await cluster.http(0).json('GET', '/v1/operator/autopilot/health', { timeoutMs })
  t.match(health, { Healthy: true, FailureTolerance: 0, Servers: [{ Name: 's1', Voter: true }] })
})
