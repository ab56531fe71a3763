/** The catalog on real servers: registrations are seen everywhere, and nodes follow who is alive. */
import t from 'tap'
import { startCluster, type Cluster, steadyLeadership } from '../support/cluster.ts'
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
  'registrations are seen on all, and nodes and checks follow their servers',
  async (t) => {
    const config = { enable_script_checks: true }
    const cluster = await startCluster(t, { gossip: true, raft: steadyLeadership, config })
    const follower = await cluster.follower()
    const other = cluster.all.find((at) => at !== follower) ?? 0
    const own = `s${follower + 1}`
    const put = async (path: string, body?: object) => {
      const options = body === undefined ? {} : { body: JSON.stringify(body) }
      const { status } = await cluster.http(follower).request('PUT', path, options)
      t.equal(status, 200, path)
    }
    await put('/v1/catalog/register', {
      Node: 'printer',
      Address: '192.0.2.7',
      Service: { Service: 'print', Port: 631 },
      Check: { Name: 'paper', Status: 'passing' },
    })
    for (const at of cluster.all) {
      t.match(await cluster.http(at).json('GET', '/v1/catalog/service/print'), [
        { Node: 'printer', ServicePort: 631 },
      ])
      for (const node of ['s1', 's2', 's3']) {
        await statusBecomes(cluster, [at, node, 'gossipHealth'], 'passing')
      }
    }

    const { http, gossip } = cluster.server(follower).spec.ports
    const url = `http://127.0.0.1:${http}/v1/status/leader`
    await put('/v1/agent/service/register', {
      Name: 'api',
      Checks: [
        { CheckID: 'ttl', TTL: '1h' },
        { CheckID: 'http', HTTP: url, Interval: '1s' },
        { CheckID: 'tcp', TCP: `127.0.0.1:${gossip}`, Interval: '1s' },
        { CheckID: 'script', Args: ['sh', '-c', 'echo hm; exit 1'], Interval: '1s' },
      ],
    })
    await put('/v1/agent/check/pass/ttl?note=well')
    const wanted = { ttl: 'passing', http: 'passing', tcp: 'passing', script: 'warning' }
    for (const [id, status] of Object.entries(wanted)) {
      await statusBecomes(cluster, [other, own, id], status)
    }

    await cluster.kill(follower)
    await statusBecomes(cluster, [other, own, 'gossipHealth'], 'critical', detection)
    t.match(await checkOf(cluster, other, own, 'gossipHealth'), {
      Output: 'Agent not live or unreachable',
    })
    t.match(await checkOf(cluster, other, own, 'ttl'), { Status: 'passing', Output: 'well' })
    await cluster.restart(follower)
    await statusBecomes(cluster, [other, own, 'gossipHealth'], 'passing', detection)
    await statusBecomes(cluster, [follower, 'printer', 'paper'], 'passing')
    await put('/v1/agent/check/fail/ttl')
    await statusBecomes(cluster, [other, own, 'ttl'], 'critical')
  },
)

void t.test(
  'without gossip, the leader’s own view of the servers is what their checks say',
  async (t) => {
    const cluster = await startCluster(t, { raft: steadyLeadership })
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
