/** An operator changes the cluster key: file after file, server after server, while variables are written and read. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { clusterKeyFileName } from '../../src/domains/variables/cluster-key.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'
import { equalReplicas } from '../support/replicas.ts'

type Key = { KeyID: string; ClusterKeyID: string; State: string }

void t.test('the cluster key is changed by a restart of one server after the other', async (t) => {
  const cluster = await startCluster(t)
  const write = async (at: number, name: string) => {
    const outcome = await cluster.variables(at).put(name, `of ${name}`)
    if (outcome.type !== 'ok') throw new Error(`${name}: ${outcome.type}`)
  }
  for (let n = 0; n < 20; n += 1) await write(0, `v/${n}`)
  const made = await activeKey(cluster, 0)

  const file = join(t.testdir(), 'cluster.key')
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  for (const at of cluster.all) {
    await cluster.reconfigureServer(at, { keyring_key_file: file })
    await cluster.waitForLeader()
    await write(at, `during/${at}`)
  }
  const given = await eventually('the key of the file takes over', async () => {
    const key = await activeKey(cluster, 0)
    return key.ClusterKeyID === made.ClusterKeyID ? undefined : key
  })

  // Whoever leads, it stays.
  for (const at of cluster.all) await cluster.restart(at)
  await cluster.waitForLeader()
  await eventuallyTrue('all is sealed anew and read from every server', async () => {
    for (const at of cluster.all) {
      const read = await cluster.variables(at).read(`v/${at}`)
      if (read.type !== 'ok' || read.seen.value !== `of v/${at}`) return false
    }
    return true
  })
  t.equal((await activeKey(cluster, 1)).KeyID, given.KeyID)
  t.equal((await equalReplicas(cluster, 'v/')).length, 20)
  t.equal((await equalReplicas(cluster, 'during/')).length, 3)
  const key = (await readFile(file, 'utf8')).trim()
  await eventuallyTrue('no folder has the key of the file', async () => {
    const stored = cluster.all.map((at) =>
      readFile(join(cluster.server(at).dataFolder, clusterKeyFileName), 'utf8'),
    )
    return (await Promise.all(stored)).every((text) => !text.includes(key))
  })
})

async function activeKey(cluster: Cluster, at: number): Promise<Key> {
  return eventually('an active key', async () => {
    const reply = await cluster.http(at).request('GET', '/v1/operator/keyring/keys')
    if (reply.status !== 200) return undefined
    return (JSON.parse(reply.body.toString()) as Key[]).find(({ State }) => State === 'active')
  })
}
