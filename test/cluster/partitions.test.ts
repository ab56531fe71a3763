/** Who may speak for the cluster while servers cannot hear one another. */
import t from 'tap'
import { sharedCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { equalReplicas } from '../support/replicas.ts'

const started = sharedCluster(t, { proxies: true })
const shortMs = 2_000

void t.test(
  'the majority goes on, and a cut-off leader neither writes nor answers consistently',
  async (t) => {
    const cluster = await started()
    const leader = await cluster.waitForLeader()
    await cluster.variables(leader).put('split/key', 'before')
    await cluster.network.isolate(leader)
    const successor = await cluster.waitForLeader({ except: leader })
    t.not(successor, leader)
    t.match(await cluster.variables(successor).put('split/key', 'after'), { type: 'ok' })

    const cutOff = cluster.variables(leader, shortMs)
    t.match(await cutOff.read('split/key', 'consistent'), { type: 'failed' })
    t.match(await cutOff.put('split/lost', 'x'), { type: 'unknown' })
    t.match(
      await cutOff.read('split/key', 'stale'),
      { type: 'ok', seen: { value: 'before' } },
      'a stale read says what it has',
    )

    await cluster.network.heal()
    await cluster.waitForLeader()
    t.match(
      await cluster.variables(leader).read('split/key', 'consistent'),
      { type: 'ok', seen: { value: 'after' } },
      'once back, it knows',
    )
    await equalReplicas(cluster, 'split/')
  },
)

for (const [what, breakIt] of [
  ['can send but not hear', 'deafen'],
  ['can hear but not send', 'mute'],
] as const) {
  void t.test(`a leader that ${what} steps aside`, async (t) => {
    const cluster = await started()
    const leader = await cluster.waitForLeader()
    await cluster.network[breakIt](leader)
    const successor = await cluster.waitForLeader({ except: leader })
    t.not(successor, leader)
    t.match(await cluster.variables(successor).put('one-way/key', what), { type: 'ok' })
    await eventuallyTrue('it no longer claims to lead', async () => {
      return (await cluster.leaderAsSeenBy(leader)) !== leader
    })
    await cluster.network.heal()
    await cluster.waitForLeader()
    t.match(await cluster.variables(leader).read('one-way/key'), {
      type: 'ok',
      seen: { value: what },
    })
  })
}

void t.test(
  'with no majority anywhere nothing is accepted, and afterwards everything is',
  async (t) => {
    const cluster = await started()
    await cluster.network.partition([])
    await eventuallyTrue('every server has noticed', async () => {
      const named = await Promise.all(cluster.all.map((at) => cluster.leaderAsSeenBy(at)))
      return named.every((leader) => leader === null)
    })
    for (const at of cluster.all) {
      t.match(await cluster.variables(at, shortMs).read('nobody/key'), { type: 'failed' })
    }
    await cluster.network.heal()
    await cluster.waitForLeader()
    for (const at of cluster.all) {
      t.match(await cluster.variables(at).put(`nobody/${at}`, 'again'), { type: 'ok' })
    }
    t.ok((await equalReplicas(cluster, 'nobody/')).length >= cluster.size)
  },
)
