/** Servers that find and lose one another by gossip, and what Raft makes of it. */
import t from 'tap'
import type { Cluster } from '../support/cluster.ts'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'

type Peer = { readonly Node: string; readonly Voter: boolean; readonly Leader: boolean }

async function peers(cluster: Cluster, at: number): Promise<readonly Peer[]> {
  const path = '/v1/operator/raft/configuration?stale'
  const answer = await cluster.http(at).json('GET', path, { timeoutMs: 2_000 })
  return (answer as { readonly Servers: readonly Peer[] }).Servers
}

async function voters(cluster: Cluster, at: number): Promise<string> {
  const found = (await peers(cluster, at)).filter(({ Voter }) => Voter).map(({ Node }) => Node)
  return found.toSorted().join(' ')
}

void t.test('three find one another, more join, and the voters follow', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  t.equal(await voters(cluster, 0), 's1 s2 s3')
  await cluster.add()
  await cluster.add()
  await eventuallyTrue(
    'a fourth and a fifth become voters',
    async () => (await voters(cluster, 1)) === 's1 s2 s3 s4 s5',
  )
  const begun = (await cluster.logs(500)).match(/a new cluster begins/g) ?? []
  t.equal(begun.length, 1, 'one cluster was begun')
})
