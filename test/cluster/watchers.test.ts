/** Hundreds of clients that watch one long list, while it changes: all are told, and the cluster notices nothing. */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { metricsOf, usedBy } from '../support/server-numbers.ts'
import { fillPrefix, Watchers, writeKey } from '../support/watchers.ts'

const watchersCount = 500
const keys = 2_000
const writes = 3
/** Generous: the answers to all of them, each made for itself, are beyond 1,300. */
const grownMiBMax = 300

void t.test(
  '500 watchers of 2,000 keys are told of each write, and nobody is deposed',
  async (t) => {
    const cluster = await startCluster(t)
    const leader = await cluster.waitForLeader()
    const { spec, pid } = cluster.server(leader)
    await fillPrefix(cluster.http(leader), 'watched', keys)
    const before = await usedBy(pid ?? 0)
    const watchers = new Watchers({
      port: spec.ports.http,
      count: watchersCount,
      path: '/v1/kv/watched?recurse&wait=10m',
    })
    t.teardown(() => watchers.stop())
    await watchers.start()
    const leaders = async () =>
      (await metricsOf(spec.ports.ops))('muster_raft_leader_changes_total')
    const leadersBefore = await leaders()
    for (let at = 0; at < writes; at += 1) {
      await watchers.reached(await writeKey(cluster.http(leader), `watched/${at}`, `written ${at}`))
    }
    t.equal(await leaders(), leadersBefore, 'the leader went on leading')
    t.ok(watchers.answers >= watchersCount * (writes + 1), `${watchers.answers} answers`)
    t.same([...watchers.statuses.keys()], [200])
    const after = await usedBy(pid ?? 0)
    const grownMiB = after.peakMiB - before.residentMiB
    t.ok(grownMiB < grownMiBMax, `${grownMiB.toFixed(0)} MiB more`)
  },
)
