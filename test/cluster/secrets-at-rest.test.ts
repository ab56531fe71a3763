/** What is written into a variable is nowhere on any disk, in no log line and in no archive, in the clear. */
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { filesUnder, foundUnder, heldByArchive, planted } from '../support/planted.ts'
import { equalReplicas } from '../support/replicas.ts'

const secret = planted('planted')
const secretKey = planted('name')
const secrets = [secret, secretKey]

void t.test('a planted secret is found nowhere', async (t) => {
  const cluster = await startCluster(t, { logLevel: 'trace', raft: { compact_bytes: '1MiB' } })
  const at = await cluster.follower()
  const put = async (path: string): Promise<void> => {
    const body = JSON.stringify({ Items: { [secretKey]: secret, v: secret } })
    await cluster.http(at).json('PUT', `/v1/var/${path}`, { body })
  }
  for (let number = 0; number < 20; number += 1) await put(`secret/${number}`)
  await cluster.http(at).json('PUT', '/v1/operator/keyring/rotate')
  for (let number = 0; number < 40; number += 1) await put(`secret/${number}`)
  // A refused write also carries it.
  await cluster.variables(at).cas('secret/0', 1, secret)
  await equalReplicas(cluster, 'secret/')
  t.match(
    await cluster.variables(at).read('secret/3'),
    { type: 'ok', seen: { value: secret } },
    'but whoever may read it gets it',
  )

  const archive = await cluster.http(at).request('GET', '/v1/operator/snapshot')
  t.equal(archive.status, 200)
  t.same(await heldByArchive(archive.body, secrets), [], 'not in the archive')

  // Once with the files as a running server has them, once as a crash leaves them.
  for (const state of ['running', 'killed']) {
    if (state === 'killed') await Promise.all(cluster.all.map((server) => cluster.kill(server)))
    const files = await filesUnder(cluster.folder)
    t.ok(files.length > 3 * cluster.size, `${files.length} files looked through, ${state}`)
    t.same(await foundUnder(cluster.folder, secrets), [], state)
  }
})
