/**
 * A leader that falls silent without closing a connection: it stands still, nobody hears it, it hears nobody, its disk takes
 * no writes. Another leads soon, and what clients asked of the others before is settled without the silent one. The bounds are
 * many times what it takes; `npm run failover` measures that.
 */
import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { ask } from '../support/ask.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { FreezableDisk } from '../support/freezable-disk.ts'
import { equalReplicas } from '../support/replicas.ts'

/** Twenty times what is aimed at. */
const replacedMsMax = 20_000
/** Far less than the 30 s after which a request gives up by itself. */
const settledMsMax = 15_000
const diskMiB = 192

type Asked = { readonly settled: () => boolean; readonly path: string }

/** Writes at a follower that go on while the fault begins: some are on their way to the leader then. */
function askMany(cluster: Cluster, at: number): { readonly stop: () => Promise<readonly Asked[]> } {
  const asked: Asked[] = []
  const stopping = new AbortController()
  const round = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      let settled = false
      const path = `silent/${randomUUID()}`
      void cluster
        .variables(at, 60_000)
        .put(path, 'x')
        .then(() => (settled = true))
      asked.push({ settled: () => settled, path })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const running = round()
  return {
    stop: async () => {
      stopping.abort()
      await running
      return asked
    },
  }
}

async function replacedAndSettled(
  t: Test,
  cluster: Cluster,
  begin: (leader: number) => Promise<void> | void,
): Promise<number> {
  const leader = await cluster.waitForLeader()
  const others = cluster.all.filter((at) => at !== leader)
  const [one = 0] = others
  const clients = askMany(cluster, one)
  await eventuallyTrue('writes are answered', async () => {
    return (await cluster.variables(one).put('silent/first', 'x')).type === 'ok'
  })
  const beganMs = performance.now()
  await begin(leader)
  await eventually(
    'another server leads and takes writes',
    async () => {
      const named = await cluster.leaderAsSeenBy(one)
      if (named === null || named === leader) return undefined
      return (await cluster.variables(one, 2_000).put('silent/next', 'x')).type === 'ok'
        ? true
        : undefined
    },
    { timeoutMs: replacedMsMax },
  )
  t.comment(`replaced after ${(performance.now() - beganMs).toFixed(0)} ms`)
  const asked = await clients.stop()
  await eventuallyTrue('all requests are settled', () => asked.every((one) => one.settled()), {
    timeoutMs: settledMsMax,
  })
  t.comment(`all settled after ${(performance.now() - beganMs).toFixed(0)} ms`)
  return leader
}

void t.test('a leader that falls silent', async (t) => {
  const disks: (FreezableDisk | null)[] = []
  const cluster = await startCluster(t, {
    proxies: true,
    prepare: async (server) => {
      disks.push(await FreezableDisk.mount(server.dataFolder, diskMiB))
    },
  })
  // Before the cluster is stopped: a process that waits for a frozen disk does not die.
  t.teardown(async () => {
    for (const at of cluster.all) cluster.resume(at)
    for (const disk of disks) await disk?.thaw()
    for (const at of cluster.all) await cluster.kill(at)
    for (const disk of disks) await disk?.unmount()
  })

  await t.test('because its process stands still', async (t) => {
    const leader = await replacedAndSettled(t, cluster, (leader) => cluster.pause(leader))
    cluster.resume(leader)
    await cluster.waitForLeader()
  })

  for (const [what, fault] of [
    ['because it is cut off', 'isolate'],
    ['because nobody hears it', 'mute'],
    ['because it hears nobody', 'deafen'],
  ] as const) {
    await t.test(what, async (t) => {
      await replacedAndSettled(t, cluster, (leader) => cluster.network[fault](leader))
      await cluster.network.heal()
      await cluster.waitForLeader()
    })
  }

  await t.test('because its disk takes no writes, and answers all the same', async (t) => {
    if (disks.includes(null)) {
      t.comment('NOT TESTED: this machine freezes no disk')
      return
    }
    const leader = await replacedAndSettled(t, cluster, async (leader) => disks[leader]?.freeze())
    const stale = await cluster.variables(leader).read('ready/0', 'stale')
    t.match(stale, { type: 'ok', seen: { value: 'yes' } }, 'stale reads are answered')
    await eventuallyTrue('it says that it is not well', async () => {
      return (await ask(cluster.server(leader).spec.ports.ops, 'GET', '/health')).status === 503
    })
    await disks[leader]?.thaw()
    await cluster.waitForLeader()
    await eventuallyTrue('it is well again', async () => {
      return (await ask(cluster.server(leader).spec.ports.ops, 'GET', '/health')).status === 200
    })
  })

  t.ok((await equalReplicas(cluster, 'silent/')).length > 0, 'all servers have the same')
})
