/** An archive of a cluster brings its state back: on itself while it runs, and on a fresh cluster. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { eventually } from '../support/eventually.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { equalReplicas } from '../support/replicas.ts'

const variableCount = 300

void t.test(
  'a running cluster goes back to its archive, and indexes still only grow',
  async (t) => {
    const cluster = await startCluster(t)
    const at = await cluster.follower()
    await fill(cluster, at)
    const before = await equalReplicas(cluster, 'kept/')
    const archive = await save(cluster, at)

    const variables = cluster.variables(at)
    await variables.put('kept/0', 'changed since')
    await variables.delete('kept/1')
    const later = await variables.put('added/since', 'x')
    if (later.type !== 'ok') throw new Error('the write must succeed')

    const reply = await cluster
      .http(at)
      .request('PUT', '/v1/operator/snapshot', { body: archive, timeoutMs: 30_000 })
    t.equal(reply.status, 200, reply.body.toString())
    t.match(await variables.read('kept/0'), { type: 'ok', seen: { value: 'value 0' } })
    t.match(await variables.read('kept/1'), { type: 'ok', seen: { value: 'value 1' } })
    t.match(await variables.read('added/since'), { type: 'ok', seen: { value: null } })
    t.same(
      (await equalReplicas(cluster, 'kept/')).map(({ Path }) => Path),
      before.map(({ Path }) => Path),
      'on every server',
    )
    const next = await variables.put('added/after', 'x')
    t.ok(next.type === 'ok' && (next.index ?? 0) > (later.index ?? 0), 'indexes go on upwards')

    await Promise.all(cluster.all.map((server) => cluster.kill(server)))
    await Promise.all(cluster.all.map((server) => cluster.restart(server)))
    await cluster.waitForLeader()
    t.match(await variables.read('kept/1'), { type: 'ok', seen: { value: 'value 1' } })
    t.match(await variables.read('added/since'), { type: 'ok', seen: { value: null } })
    await equalReplicas(cluster, '')
  },
)

void t.test('a fresh cluster with the same key file takes over an archive', async (t) => {
  const keyFile = await newKeyFile(t)
  const first = await startCluster(t, { server: { keyring_key_file: keyFile } })
  await fill(first, 0)
  const archive = await save(first, 0)
  await first.stop()

  const second = await startCluster(t, { server: { keyring_key_file: keyFile } })
  // A new cluster begins at the first command version, and its leader raises that once all servers have answered.
  const status = await eventually('the archive is taken in', async () => {
    const reply = await second
      .http(0)
      .request('PUT', '/v1/operator/snapshot', { body: archive, timeoutMs: 30_000 })
    return /saved at command version/.test(reply.body.toString()) ? undefined : reply.status
  })
  t.equal(status, 200)
  t.equal((await equalReplicas(second, 'kept/')).length, variableCount)
  for (const at of second.all) {
    t.match(
      await second.variables(at).read(`kept/${at}`),
      { type: 'ok', seen: { value: `value ${at}` } },
      'readable on every server',
    )
  }
  t.match(await second.variables(1).put('kept/0', 'and writable'), { type: 'ok' })
})

void t.test('a damaged archive is refused and changes nothing', async (t) => {
  const cluster = await startCluster(t)
  await fill(cluster, 0)
  const archive = await save(cluster, 0)
  const before = JSON.stringify(await equalReplicas(cluster, ''))
  const damaged = Buffer.from(archive)
  const middle = damaged.length >> 1
  damaged[middle] = (damaged[middle] ?? 0) ^ 0xff
  for (const body of [damaged, archive.subarray(0, middle), Buffer.from('nonsense')]) {
    const reply = await cluster.http(0).request('PUT', '/v1/operator/snapshot', { body })
    t.equal(reply.status, 400, reply.body.toString())
  }
  t.equal(JSON.stringify(await equalReplicas(cluster, '')), before)
})

async function fill(cluster: Cluster, at: number): Promise<void> {
  const variables = cluster.variables(at)
  for (let number = 0; number < variableCount; number += 1) {
    const outcome = await variables.put(`kept/${number}`, `value ${number}`)
    if (outcome.type !== 'ok') throw new Error(`kept/${number}: ${outcome.type}`)
  }
}

async function save(cluster: Cluster, at: number): Promise<Buffer> {
  const reply = await cluster.http(at).request('GET', '/v1/operator/snapshot')
  if (reply.status !== 200) throw new Error(`snapshot: ${reply.status} ${reply.body.toString()}`)
  return reply.body
}

async function newKeyFile(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-key-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'cluster.key')
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return file
}
