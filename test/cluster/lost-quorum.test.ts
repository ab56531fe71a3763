/** A cluster that lost its quorum for good goes on from the one server that is left. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { detection, eventuallyTrue } from '../support/eventually.ts'
import {
  assertAllThere,
  gossipOf,
  recover,
  survivorOf,
  voteSoon,
  writes,
  writing,
} from '../support/lost-quorum.ts'
import { peers, voters } from '../support/members.ts'

// Elections, gossip and the command, one after the other: much for a machine that is busy with others.
t.setTimeout(300_000)

void t.test('one of three survives, and the cluster grows again from it', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const { survivor, lost } = await survivorOf(cluster)
  const [wiped = -1, kept = -1] = lost
  const writer = writing(cluster, survivor, 'kept')
  await eventuallyTrue('much is written', () => writer.acknowledged.size > 100)
  await Promise.all([cluster.kill(wiped), cluster.kill(kept)])
  await writer.stop()
  await cluster.wipe(wiped)

  await t.test('a server that runs is left alone', async (t) => {
    t.match(await recover(cluster, survivor, '-keep-only-self', '-yes'), {
      code: 1,
      err: /is in use by process \d+/,
    })
  })

  await cluster.terminate(survivor)
  const { code, out } = await recover(cluster, survivor, '-keep-only-self', '-yes')
  t.match({ code, out }, { code: 0, out: /Done\.[^]*Start this server/ })
  const idOf = (which: string) => new RegExp(`${which} cluster +=\\s(\\S+)`).exec(out)?.[1]
  t.not(idOf('New'), idOf('Old'), 'it is another cluster')

  await cluster.server(survivor).start()
  await writes(cluster, survivor, 'after/recovery')
  t.equal(await cluster.leaderAsSeenBy(survivor), survivor, 'it leads by itself')
  await assertAllThere(t, cluster, survivor, writer.acknowledged)
  await voteSoon(cluster, survivor)

  const first = await cluster.add(gossipOf(cluster, survivor))
  await eventuallyTrue(
    'the first new server is a member',
    async () => (await peers(cluster, survivor)).length === 2,
    detection,
  )

  await cluster.server(kept).start()
  await t.test('a server of the old cluster with its old data is refused', async (t) => {
    await eventuallyTrue(
      'it says so',
      async () =>
        (await readFile(cluster.server(kept).logFile, 'utf8')).includes(
          'which was recovered without it',
        ),
      detection,
    )
    t.equal((await peers(cluster, survivor)).length, 2, 'it is no member')
  })

  const second = await cluster.add(gossipOf(cluster, survivor))
  const names = [survivor, first, second].map((at) => cluster.server(at).spec.name)
  await eventuallyTrue(
    'both new servers vote, although the old one is about',
    async () => (await voters(cluster, survivor)) === names.toSorted().join(' '),
    detection,
  )
  await assertAllThere(t, cluster, second, writer.acknowledged)
  await cluster.kill(survivor)
  await writes(cluster, first, 'after/kill')
  await cluster.server(survivor).start()
  await writes(cluster, survivor, 'after/return')
  await assertAllThere(t, cluster, survivor, writer.acknowledged)
})
