/** Two clusters of one region, key and set of names, as from one configuration used twice, whose gossip ports meet. */
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { detection, eventually, eventuallyTrue } from '../support/eventually.ts'
import { mark, markSeenBy } from '../support/mark.ts'
import {
  allHealthy,
  forceLeave,
  join,
  membersSeenBy,
  peers,
  setAutopilot,
  statusBecomes,
  voters,
  votersBecome,
} from '../support/members.ts'

function gossipPort(cluster: Cluster, at: number): number {
  return cluster.server(at).spec.ports.gossip
}

function listed(ports: readonly number[]): string {
  return ports.toSorted((left, right) => left - right).join()
}

void t.test('two clusters of one region and the same names meet and stay two', async (t) => {
  const one = await startCluster(t, { gossip: true })
  const two = await startCluster(t, { gossip: true })
  for (const cluster of [one, two]) await setAutopilot(cluster)
  await mark(one, 'one')
  await mark(two, 'two')
  const ids = async (cluster: Cluster) => (await peers(cluster, 0)).map(({ ID }) => ID).toSorted()
  const idsOfOne = await ids(one)
  const idsOfTwo = await ids(two)

  await t.test('a join by hand is refused, and says whose cluster that is', async (t) => {
    const answer = await join(one, 0, gossipPort(two, 1))
    t.equal(answer.num_joined, 0)
    t.match(
      answer.error,
      /s\d\.global at 127\.0\.0\.1:\d+ is of cluster [0-9a-f-]{36}, this server/,
    )
    await two.logged(
      1,
      /a member is kept out of this pool: .*s\d\.global at 127\.0\.0\.1:\d+ is of/,
    )
  })

  await t.test('a server configured with both pools comes back to its own', async () => {
    const leader = await two.waitForLeader()
    const retry_join = [gossipPort(one, 0), gossipPort(two, (leader + 1) % 3)].map(
      (port) => `127.0.0.1:${port}`,
    )
    await two.reconfigureServer(leader, { retry_join })
    await eventuallyTrue('it follows', async () => (await two.leaderAsSeenBy(leader)) !== null)
    for (const cluster of [one, two]) {
      const own = listed(cluster.all.map((at) => gossipPort(cluster, at)))
      for (const at of cluster.all) {
        await eventuallyTrue('it knows those of its own cluster, and nobody else', async () => {
          const members = await membersSeenBy(cluster, at)
          return listed(members.map(({ Port }) => Port)) === own
        })
      }
    }
    await allHealthy(two, leader)
  })

  await t.test('a newcomer that reaches both belongs to one, and they do not mix', async (t) => {
    const retry_join = [one, two].flatMap((cluster) =>
      cluster.all.map((at) => `127.0.0.1:${gossipPort(cluster, at)}`),
    )
    await one.add({ retry_join })
    const joined = async (cluster: Cluster) => (await voters(cluster, 0)) === 's1 s2 s3 s4'
    const home = await eventually(
      'it is a voter',
      async () => {
        if (await joined(one)) return one
        return (await joined(two)) ? two : undefined
      },
      { timeoutMs: 60_000 },
    )
    const other = home === one ? two : one
    // What is told of the dead of one cluster may be heard in the other, where living ones have the same names.
    // Not all of its processes need be members: the newcomer was started by `one`, wherever it went.
    const leader = await eventually(
      'its own servers have a leader',
      async () => (await other.leaderAsSeenBy(0)) ?? undefined,
    )
    const gone = (leader + 1) % 3
    await other.kill(gone)
    await statusBecomes(other, leader, `s${gone + 1}.global`, 'failed', detection)
    t.equal(await forceLeave(other, leader, `s${gone + 1}`), 200)
    const rest = ['s1', 's2', 's3'].filter((name) => name !== `s${gone + 1}`)
    await votersBecome(other, leader, rest.join(' '))
    await other.restart(gone)
    await votersBecome(other, leader, 's1 s2 s3')
    await votersBecome(home, 0, 's1 s2 s3 s4')
    await allHealthy(home, 0)
    await allHealthy(other, leader)
    const now = await ids(home)
    const then = home === one ? idsOfOne : idsOfTwo
    t.same(
      now.filter((id) => then.includes(id)),
      then,
    )
    t.same(await ids(other), other === one ? idsOfOne : idsOfTwo)
    for (const at of [0, 1, 2]) {
      t.equal(await markSeenBy(one, at), 'one')
      t.equal(await markSeenBy(two, at), 'two')
    }
  })
})
