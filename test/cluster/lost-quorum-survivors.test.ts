/** Several survivors of a lost quorum, recovered by one file. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import {
  assertAllThere,
  recover,
  stoppedClusterId,
  survivorOf,
  writes,
  writing,
} from '../support/lost-quorum.ts'
import { peers, voters } from '../support/members.ts'

void t.test('two of five survive and go on together', async (t) => {
  const cluster = await startCluster(t, { servers: 5 })
  const { survivor, lost } = await survivorOf(cluster)
  const [second = -1, ...dead] = lost
  // It lags behind when the others die, and both have entries that nobody can vouch for.
  await cluster.kill(second)
  const writer = writing(cluster, survivor, 'kept')
  await eventuallyTrue('much is written', () => writer.acknowledged.size > 50)
  await Promise.all(dead.map((at) => cluster.wipe(at)))
  await writer.stop()
  const servers = await peers(cluster, survivor)
  await cluster.terminate(survivor)

  const file = join(cluster.folder, 'peers.json')
  const named = [survivor, second].map((at) => {
    const name = cluster.server(at).spec.name
    return { id: servers.find(({ Node }) => Node === name)?.ID }
  })
  await writeFile(file, JSON.stringify(named))
  for (const at of [survivor, second]) {
    t.match(await recover(cluster, at, '-peers', file, '-yes'), { code: 0 })
  }
  t.equal(
    await stoppedClusterId(cluster, survivor),
    await stoppedClusterId(cluster, second),
    'both are of the same new cluster',
  )
  for (const at of [survivor, second]) await cluster.server(at).start()
  await writes(cluster, second, 'after/recovery')
  t.equal(await cluster.leaderAsSeenBy(second), survivor, 'the most complete one leads')
  await assertAllThere(t, cluster, second, writer.acknowledged)
  const names = [survivor, second].map((at) => cluster.server(at).spec.name)
  t.equal(await voters(cluster, second), names.toSorted().join(' '))
})
