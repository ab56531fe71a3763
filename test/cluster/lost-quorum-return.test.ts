/** Servers of a cluster that others took for lost, and that come back. */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { detection, eventuallyTrue } from '../support/eventually.ts'
import { recover, survivorOf, writes } from '../support/lost-quorum.ts'
import { peers } from '../support/members.ts'

void t.test(
  'a majority of the old cluster that returns does not reach its successor',
  async (t) => {
    const cluster = await startCluster(t, { gossip: true })
    const { survivor, lost } = await survivorOf(cluster)
    const [one = -1, other = -1] = lost
    await writes(cluster, survivor, 'before/all')
    await Promise.all(cluster.all.map((at) => cluster.terminate(at)))
    t.match(await recover(cluster, survivor, '-keep-only-self', '-yes'), { code: 0 })
    await cluster.server(survivor).start()
    await writes(cluster, survivor, 'after/recovery')

    await Promise.all(lost.map((at) => cluster.server(at).start()))
    await eventuallyTrue(
      'the others go on as the old cluster',
      async () => lost.includes((await cluster.leaderAsSeenBy(one)) ?? -1),
      { timeoutMs: 60_000 },
    )
    await writes(cluster, one, 'old/one')
    await writes(cluster, survivor, 'after/both')

    const seen = async (at: number, path: string) => {
      const outcome = await cluster.variables(at).read(path)
      return outcome.type === 'ok' ? outcome.seen.value : outcome.type
    }
    t.equal(await seen(survivor, 'old/one'), null, 'their writes do not reach the successor')
    t.equal(await seen(other, 'after/both'), null, 'nor do its writes reach them')
    t.equal(await seen(survivor, 'before/all'), 'yes')
    t.same(
      (await peers(cluster, survivor)).map(({ Node }) => Node),
      [cluster.server(survivor).spec.name],
    )
    t.equal((await peers(cluster, one)).length, 3, 'to them it is a member that failed')

    const [, loser = -1] = lost
    await cluster.wipe(loser)
    await cluster.server(loser).start()
    await eventuallyTrue(
      'emptied, one of them joins the successor',
      async () => (await peers(cluster, survivor)).length === 2,
      detection,
    )
  },
)
