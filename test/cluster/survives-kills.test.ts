/** Servers are killed and paused under clients: no acknowledged write is lost, no read is stale, replicas end equal. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { seededRandom } from '../../src/lib/random.ts'
import { judge } from '../chaos/run.ts'
import { Workload } from '../chaos/workload.ts'
import { startCluster } from '../support/cluster.ts'

const leaderKills = 10
const wholeKills = 3
const pauses = 2
/** Several election timeouts: the others have long chosen another leader when the paused one wakes up. */
const pauseMs = 1_500

void t.test('no acknowledged write is lost and no consistent read is stale', async (t) => {
  const cluster = await startCluster(t)
  const workload = new Workload(cluster, seededRandom(1))
  for (let kill = 0; kill < leaderKills; kill += 1) {
    const leader = await cluster.waitForLeader()
    await cluster.kill(leader)
    await cluster.waitForLeader({ except: leader })
    await cluster.restart(leader)
  }
  for (let kill = 0; kill < wholeKills; kill += 1) {
    await cluster.waitForLeader()
    await Promise.all(cluster.all.map((at) => cluster.kill(at)))
    await Promise.all(cluster.all.map((at) => cluster.restart(at)))
  }
  for (let pause = 0; pause < pauses; pause += 1) {
    const leader = await cluster.waitForLeader()
    cluster.pause(leader)
    await delay(pauseMs)
    cluster.resume(leader)
  }
  await cluster.waitForLeader()
  await workload.stop()
  for (const failure of await judge(cluster, workload)) t.fail(failure)
  t.comment(`${workload.operations} operations`)
  t.ok(workload.recorded.created.length > 0, 'writes were acknowledged')
})
