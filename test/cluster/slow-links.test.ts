/** Servers whose links are slow: they catch up as fast as the link allows, and no leader is deposed for it. */
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'

const kilobytesPerSecond = 100
/** A frame of the megabyte that is sent at once takes ten seconds, longer than silence is borne. */
const missedBytes = 1_500_000
const valueBytes = 30_000
const catchUpMs = 90_000

void t.test('a follower behind a slow link catches up, under the same leader', async (t) => {
  const cluster = await startCluster(t, { proxies: true })
  const away = await cluster.follower()
  const leader = await cluster.waitForLeader()
  const other = cluster.all.find((at) => at !== away && at !== leader) ?? leader
  await cluster.kill(away)
  const values = Math.ceil(missedBytes / valueBytes)
  for (let at = 0; at < values; at += 1) await put(cluster, leader, `missed/${at}`, valueBytes)
  for (const from of [leader, other]) {
    await cluster.network.throttle(from, away, kilobytesPerSecond)
  }
  const before = await termOf(cluster, leader)
  await cluster.restart(away)
  await eventually(
    'it has everything',
    async () => {
      await put(cluster, leader, 'meanwhile', 10)
      const read = await cluster.http(away).request('GET', `/v1/kv/missed/${values - 1}?stale`)
      return read.status === 200 ? true : undefined
    },
    { timeoutMs: catchUpMs },
  )
  t.ok(before > 0)
  t.equal(await termOf(cluster, leader), before, 'no election was needed')

  await cluster.kill(leader)
  await cluster.waitForLeader({ except: leader })
  await put(cluster, other, 'after', 10)
})

async function put(cluster: Cluster, at: number, key: string, bytes: number): Promise<void> {
  const body = Buffer.alloc(bytes, 'v')
  const { status } = await cluster.http(at).request('PUT', `/v1/kv/${key}`, { body })
  if (status !== 200) throw new Error(`PUT ${key}: ${status}`)
}

async function termOf(cluster: Cluster, at: number): Promise<number> {
  const metrics = (await cluster.http(at).request('GET', '/v1/agent/metrics?format=prometheus'))
    .body
  return Number(/^muster_raft_term(?:\{[^}]*\})? (\d+)/m.exec(metrics.toString())?.[1])
}
