/** The catalog on real servers: registrations are seen everywhere, and nodes follow who is alive. */
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { detection, eventually, eventuallyTrue, type Patience } from '../support/eventually.ts'

type ShownCheck = { readonly CheckID: string; readonly Status: string; readonly Output: string }

async function checkOf(cluster: Cluster, at: number, node: string, id: string) {
  const checks = await cluster.http(at).json('GET', `/v1/health/node/${node}`)
  return (checks as ShownCheck[]).find(({ CheckID }) => CheckID === id)
}

async function statusBecomes(
  cluster: Cluster,
  [at, node, id]: readonly [number, string, string],
  wanted: string | undefined,
  patience: Patience = {},
) {
  const what = `server ${at} shows ${id} of ${node} as ${wanted ?? 'gone'}`
  await eventuallyTrue(
    what,
    async () => (await checkOf(cluster, at, node, id))?.Status === wanted,
    patience,
  )
}

void t.test(
  'what is registered on a follower is there on all, and nodes follow their servers',
  async (t) => {
    const cluster = await startCluster(t, { gossip: true })
    const follower = await cluster.follower()
    const body = JSON.stringify({
      Node: 'printer',
      Address: '192.0.2.7',
      Service: { Service: 'print', Port: 631 },
      Check: { Name: 'paper', Status: 'passing' },
    })
    t.equal(await cluster.http(follower).json('PUT', '/v1/catalog/register', { body }), true)
    for (const at of cluster.all) {
      t.match(await cluster.http(at).json('GET', '/v1/catalog/service/print'), [
        { Node: 'printer', ServicePort: 631 },
      ])
      for (const node of ['s1', 's2', 's3']) {
        await statusBecomes(cluster, [at, node, 'gossipHealth'], 'passing')
      }
    }

    const victim = cluster.all.find((at) => at !== follower) ?? 0
    const name = `s${victim + 1}`
    await cluster.kill(victim)
    await statusBecomes(cluster, [follower, name, 'gossipHealth'], 'critical', detection)
    t.match(await checkOf(cluster, follower, name, 'gossipHealth'), {
      Output: 'Agent not live or unreachable',
    })
    await cluster.restart(victim)
    await statusBecomes(cluster, [follower, name, 'gossipHealth'], 'passing', detection)
    await statusBecomes(cluster, [victim, 'printer', 'paper'], 'passing')
  },
)

void t.test(
  'without gossip, the leader’s own view of the servers is what their checks say',
  async (t) => {
    const cluster = await startCluster(t)
    const follower = await cluster.follower()
    const name = `s${follower + 1}`
    const leader = await cluster.waitForLeader()
    await statusBecomes(cluster, [leader, name, 'gossipHealth'], 'passing')
    const nodes = await eventually('all servers are nodes', async () => {
      const found = (await cluster.http(leader).json('GET', '/v1/catalog/nodes')) as {
        Node: string
        Address: string
      }[]
      return found.length === 3 ? found : undefined
    })
    t.same(
      nodes.map(({ Node, Address }) => [Node, Address]),
      [
        ['s1', '127.0.0.1'],
        ['s2', '127.0.0.1'],
        ['s3', '127.0.0.1'],
      ],
    )
    await cluster.kill(follower)
    await statusBecomes(cluster, [leader, name, 'gossipHealth'], 'critical')
    await cluster.restart(follower)
    await statusBecomes(cluster, [leader, name, 'gossipHealth'], 'passing')
  },
)
