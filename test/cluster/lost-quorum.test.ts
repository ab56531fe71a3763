/** A cluster that lost its quorum for good goes on from the one server that is left. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { detection, eventuallyTrue } from '../support/eventually.ts'
import {
  assertAllThere,
  gossipOf,
  recover,
  stoppedClusterId,
  survivorOf,
  writes,
  writing,
} from '../support/lost-quorum.ts'
import { peers, voters } from '../support/members.ts'

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
  await t.test('nothing happens unasked', async (t) => {
    t.match(await recover(cluster, survivor, '-keep-only-self'), { code: 2, err: /-dry-run/ })
    const dry = await recover(cluster, survivor, '-keep-only-self', '-dry-run')
    t.match(dry, { code: 0, out: /left out[^]*Nothing was changed/ })
  })
  await t.test('while another server answers, it asks for force', async (t) => {
    await cluster.server(kept).start()
    await eventuallyTrue('it listens', async () => {
      const { code, err } = await recover(cluster, survivor, '-keep-only-self', '-dry-run')
      return code === 1 && err.includes('still answers')
    })
    const refused = await recover(cluster, survivor, '-keep-only-self', '-yes')
    t.match(refused, { code: 1, err: /Nothing was changed/ })
    await cluster.kill(kept)
  })

  const old = await stoppedClusterId(cluster, survivor)
  const done = await recover(cluster, survivor, '-keep-only-self', '-yes')
  t.match(done, { code: 0, out: /Done\.[^]*Start this server/ })
  const again = await recover(cluster, survivor, '-keep-only-self', '-yes')
  t.match(again, { code: 0, out: /was done already/ })
  t.not(await stoppedClusterId(cluster, survivor), old, 'it is another cluster')

  await cluster.server(survivor).start()
  await writes(cluster, survivor, 'after/recovery')
  t.equal(await cluster.leaderAsSeenBy(survivor), survivor, 'it leads by itself')
  await assertAllThere(t, cluster, survivor, writer.acknowledged)

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
