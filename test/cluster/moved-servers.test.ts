/** Servers that come back at another address, and those that look for others who are not there yet. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { detection, eventuallyTrue } from '../support/eventually.ts'
import { mark, markSeenBy } from '../support/mark.ts'
import {
  allHealthy,
  membersSeenBy,
  peerNamed,
  setAutopilot,
  statusBecomes,
  votersBecome,
} from '../support/members.ts'

/** Everybody else dials it by id at its new address, and tells so. */
async function isReachedAtNewAddress(cluster: Cluster, at: number): Promise<void> {
  const { rpc, gossip } = cluster.server(at).spec.ports
  const name = `s${at + 1}`
  for (const other of cluster.all.filter((number) => number !== at)) {
    await eventuallyTrue(
      `Raft has the new address of ${name}`,
      async () => (await peerNamed(cluster, other, name)).Address === `127.0.0.1:${rpc}`,
      detection,
    )
    await eventuallyTrue(
      `gossip has the new address of ${name}`,
      async () =>
        (await membersSeenBy(cluster, other)).some(
          ({ Name, Status, Port }) =>
            Name === `${name}.global` && Status === 'alive' && Port === gossip,
        ),
      detection,
    )
  }
}

void t.test('a server that returns at another address carries on under its id', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  await setAutopilot(cluster)
  await mark(cluster, 'before')
  const leader = await cluster.waitForLeader()
  for (const [what, at] of [
    ['a follower', (leader + 1) % 3],
    ['the leader', leader],
  ] as const) {
    const observer = (leader + 2) % 3
    const { ID } = await peerNamed(cluster, observer, `s${at + 1}`)
    const startMs = performance.now()
    await cluster.move(at)
    await isReachedAtNewAddress(cluster, at)
    t.comment(`${what} was reached after ${((performance.now() - startMs) / 1_000).toFixed(1)} s`)
    t.equal((await peerNamed(cluster, observer, `s${at + 1}`)).ID, ID, `${what} is the same server`)
    await votersBecome(cluster, observer, 's1 s2 s3')
    t.equal(await markSeenBy(cluster, at), 'before', `${what} has its data`)
    await eventuallyTrue('a write through it is accepted', async () => {
      return (await cluster.variables(at).put('after/move', what)).type === 'ok'
    })
    await allHealthy(cluster, observer)
  }
  const begun = (await cluster.logs(2_000)).match(/a new cluster begins/g)
  t.equal(begun?.length, 1, 'one cluster was begun')
})

void t.test('retry_join goes on until a name answers at last', async (t) => {
  const cluster = await startCluster(t, { servers: 1, gossip: true })
  await setAutopilot(cluster)
  const { gossip } = cluster.server(0).spec.ports
  await cluster.kill(0)
  const newcomer = await cluster.add({
    retry_join: [`localhost:${gossip}`, `nobody.invalid:${gossip}`],
  })
  await cluster.logged(newcomer, /no gossip there, trying on: .*localhost/)
  await cluster.logged(newcomer, /no gossip there, trying on: .*nobody\.invalid/)
  // Several attempts, each with a longer pause.
  await delay(3_000)
  await cluster.server(0).start()
  await statusBecomes(cluster, newcomer, 's1.global', 'alive', detection)
  await votersBecome(cluster, 0, 's1 s2', detection)
  const log = await cluster.server(newcomer).logTail(2_000)
  const said = log.split('\n').filter((line) => line.includes('no gossip there'))
  t.equal(new Set(said.map((line) => line.slice(line.indexOf('[')))).size, said.length, 'once each')
  t.match(log, /joined the gossip pool: through=1/)
})
