/** Pools with others in them: another cluster, an agent of serf. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { freePorts } from '../support/free-ports.ts'
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

const serfIsHere = spawnSync('serf', ['version']).status === 0
const withoutSerf = serfIsHere ? false : 'serf is not installed'

void t.test('a serf agent is listed and disturbs nothing', { skip: withoutSerf }, async (t) => {
  const cluster = await startCluster(t, { servers: 1, gossip: true })
  const agent = await startSerf(t, cluster.server(0).spec.ports.gossip)
  await eventuallyTrue(
    'it is listed alive',
    async () => (await statusOf(cluster, 0, 'guest')) === 'alive',
  )
  t.equal(await voters(cluster, 0), 's1')
  agent.kill('SIGKILL')
  await eventuallyTrue(
    'it is failed',
    async () => (await statusOf(cluster, 0, 'guest')) === 'failed',
  )
  t.equal(await forceLeave(cluster, 0, 'guest'), 200)
  await eventuallyTrue('it has left', async () => (await statusOf(cluster, 0, 'guest')) === 'left')
  t.equal((await cluster.variables(0).put('after', 'yes')).type, 'ok')
})

async function startSerf(t: Test, joinPort: number) {
  const [port = 0, rpc = 0] = await freePorts(2)
  const child = spawn(
    'serf',
    [
      'agent',
      '-node=guest',
      `-bind=127.0.0.1:${port}`,
      `-rpc-addr=127.0.0.1:${rpc}`,
      `-join=127.0.0.1:${joinPort}`,
    ],
    { stdio: 'ignore' },
  )
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return child
}
