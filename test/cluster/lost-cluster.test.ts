/** All servers are lost with their disks: client agents go on with what a backup brings back into a new cluster. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { workFolders } from '../../src/client-agent/runner/runner.ts'
import { startClientAgent } from '../support/client-agent.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventually, eventuallyTrue } from '../support/eventually.ts'

t.setTimeout(240_000)

/** The log of the lost cluster is longer than that of the next one by so much. */
const writes = 150

const task = {
  Name: 'main',
  Driver: 'mock_driver',
  Config: { run_for: '1h' },
  Resources: { CPU: 20, MemoryMB: 16 },
  LogConfig: { MaxFiles: 1, MaxFileSizeMB: 1 },
}
const group = { Name: 'g', EphemeralDisk: { SizeMB: 10 }, Tasks: [task] }

type Shown = { readonly ID: string; readonly ClientStatus: string }

async function runJob(cluster: Cluster, id: string): Promise<void> {
  const job = { ID: id, Name: id, Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] }
  await cluster.http(0).json('PUT', '/v1/jobs', { body: JSON.stringify({ Job: job }) })
}

async function statuses(cluster: Cluster, job: string): Promise<readonly Shown[]> {
  const found = await cluster.http(0).request('GET', `/v1/job/${job}/allocations`)
  return found.status === 200 ? (JSON.parse(found.body.toString()) as readonly Shown[]) : []
}

async function becomes(cluster: Cluster, job: string, status: string): Promise<string> {
  return eventually(
    `${job} is ${status}`,
    async () =>
      (await statuses(cluster, job)).find(({ ClientStatus }) => ClientStatus === status)?.ID,
    { timeoutMs: 60_000 },
  )
}

async function newKeyFile(t: Test): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-key-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'cluster.key')
  await writeFile(file, `${randomBytes(32).toString('base64')}\n`, { mode: 0o600 })
  return file
}

t.test('a backup is restored into a new cluster, and its client agents follow it', async (t) => {
  const keyFile = await newKeyFile(t)
  const cluster = await startCluster(t, {
    gossip: true,
    servers: 1,
    server: { keyring_key_file: keyFile },
  })
  const plugin = { mock_driver: { config: { enabled: true } } }
  const client = await startClientAgent(t, cluster, { config: { plugin } })
  await runJob(cluster, 'kept')
  const kept = await becomes(cluster, 'kept', 'running')
  const { status, body } = await cluster.http(0).request('GET', '/v1/operator/snapshot')
  t.equal(status, 200)
  for (let at = 0; at < writes; at += 1) {
    await cluster.http(0).request('PUT', `/v1/kv/${at}`, { body: 'x' })
  }
  await runJob(cluster, 'later')
  const later = await becomes(cluster, 'later', 'running')

  await cluster.wipe(0)
  await cluster.restart(0)
  await cluster.waitForLeader()
  const refused = /is not taken from the servers|into which nothing was restored/
  await eventuallyTrue('the new cluster is not believed', async () =>
    refused.test(await client.process.logTail(5_000)),
  )
  await eventuallyTrue(
    'the archive is taken in',
    async () => {
      const path = '/v1/operator/snapshot'
      const reply = await cluster.http(0).request('PUT', path, { body, timeoutMs: 30_000 })
      return reply.status === 200
    },
    { timeoutMs: 60_000 },
  )
  const isStopped = async (id: string): Promise<boolean> => {
    const path = join(workFolders(client.process.dataFolder).state, `${id}.json`)
    return /"isStopped":true/.test(await readFile(path, 'utf8'))
  }
  await runJob(cluster, 'next')
  await becomes(cluster, 'next', 'running')
  t.equal(await becomes(cluster, 'kept', 'running'), kept, 'it ran on')
  t.equal(await isStopped(kept), false)
  await eventuallyTrue('what came after the backup ends', () => isStopped(later))
  await cluster.http(0).request('DELETE', '/v1/job/kept')
  t.equal(await becomes(cluster, 'kept', 'complete'), kept)
})
