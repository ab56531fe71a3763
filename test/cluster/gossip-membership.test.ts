/** Servers that find and lose one another by gossip, and what Raft makes of it. */
import t from 'tap'
import { startCluster, steadyLeadership, type Cluster } from '../support/cluster.ts'
import { detection, eventuallyTrue } from '../support/eventually.ts'
import { forceLeave, statusOf, voters } from '../support/members.ts'

async function write(cluster: Cluster, at: number): Promise<void> {
  await eventuallyTrue('a write is accepted', async () => {
    return (await cluster.variables(at).put('after/change', 'yes')).type === 'ok'
  })
}

/** How often a cluster was begun, by all logs. */
async function begun(cluster: Cluster): Promise<number> {
  return ((await cluster.logs(2_000)).match(/a new cluster begins/g) ?? []).length
}

void t.test('servers come and go by gossip, and the voters follow', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  t.equal(await voters(cluster, 0), 's1 s2 s3')
  const autopilot = '/v1/operator/autopilot/configuration'
  const body = JSON.stringify({ ServerStabilizationTime: '1s' })
  t.equal(await cluster.http(0).json('PUT', autopilot, { body }), true)
  const fourth = await cluster.add()
  const fifth = await cluster.add()
  await eventuallyTrue(
    'a fourth and a fifth become voters',
    async () => (await voters(cluster, 1)) === 's1 s2 s3 s4 s5',
  )

  const leader = await cluster.waitForLeader()
  await cluster.kill(fifth === leader ? fourth : fifth)
  const gone = fifth === leader ? 's4' : 's5'
  await eventuallyTrue(
    'the killed one is failed',
    async () => (await statusOf(cluster, 1, `${gone}.global`)) === 'failed',
    detection,
  )
  t.match(await voters(cluster, 1), gone, 'a failed server stays a voter')
  t.equal(await forceLeave(cluster, 1, gone), 200)
  await eventuallyTrue(
    'who was given up is no longer a voter',
    async () => !(await voters(cluster, 1)).includes(gone),
  )
  t.equal(await statusOf(cluster, 1, `${gone}.global`), 'left')

  await cluster.kill(leader)
  const other = [0, 1, 2].find((at) => at !== leader) ?? 0
  await write(cluster, other)
  await cluster.restart(leader)
  await cluster.restart(gone === 's4' ? fourth : fifth)
  await eventuallyTrue(
    'all are back, also the one that was given up',
    async () => (await voters(cluster, other)) === 's1 s2 s3 s4 s5',
  )
  t.equal(await begun(cluster), 1, 'one cluster was begun')
})

void t.test('who leaves on a stop is removed, and comes back with another start', async (t) => {
  const cluster = await startCluster(t, {
    gossip: true,
    config: { leave_on_terminate: true },
    // Who leads is chosen below: an election of a busy machine would make another the last.
    raft: steadyLeadership,
  })
  const leader = await cluster.waitForLeader()
  const name = `s${leader + 1}`
  const rest = ['s1', 's2', 's3'].filter((other) => other !== name).join(' ')
  const other = (leader + 1) % 3
  await cluster.terminate(leader)
  await eventuallyTrue('it is removed', async () => (await voters(cluster, other)) === rest)
  t.equal(await statusOf(cluster, other, `${name}.global`), 'left')

  const next = await cluster.waitForLeader({ except: leader })
  const last = 3 - leader - next
  await cluster.terminate(last)
  await cluster.logged(last, /leaves and stays a voter.*quorum of the configured size/)
  await cluster.server(last).start()
  await write(cluster, next)
  t.equal(await voters(cluster, next), rest, 'of three, two stay voters')

  await cluster.server(leader).start()
  await eventuallyTrue('it is back', async () => (await voters(cluster, other)) === 's1 s2 s3')
  await write(cluster, other)
})
