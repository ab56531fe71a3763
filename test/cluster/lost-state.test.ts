/** A server whose state is damaged gets another server's, and keeps its id, its log and its vote. */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { equalReplicas } from '../support/replicas.ts'
import { SteadyWriter } from '../support/writer.ts'

/** The log keeps 64 MiB and 1,000 entries: more than both makes it begin after entries that only the state holds. */
const largeBytes = 500_000
const largeWrites = 190
const smallWrites = 1_200
/** After them the log is looked at: it has grown by more than `compact_bytes`. */
const lastWrites = 10
const lanes = 10
const writes = largeWrites + smallWrites + lastWrites

async function outgrowLog(cluster: Cluster, at: number): Promise<void> {
  const body = 'x'.repeat(largeBytes)
  const write = async (number: number): Promise<void> => {
    const isLarge = number < largeWrites || number >= largeWrites + smallWrites
    const path = `/v1/kv/${isLarge ? 'large' : 'small'}/${number % lanes}`
    const text = isLarge ? `${number} ${body}` : `${number}`
    const reply = await cluster.http(at).request('PUT', path, { body: text })
    if (reply.status !== 200) throw new Error(`${path}: ${reply.status}`)
  }
  for (let number = 0; number < writes; number += lanes) {
    await Promise.all(Array.from({ length: lanes }, (_, lane) => write(number + lane)))
  }
}

/** Every file of the state but what LevelDB says of itself is there, and none of it can be opened. */
async function damageState(dataFolder: string): Promise<void> {
  const state = join(dataFolder, 'state', 'state-1')
  for (const name of await readdir(state)) {
    if (name.startsWith('MANIFEST')) await writeFile(join(state, name), Buffer.alloc(4_096, 7))
  }
}

async function valueAt(cluster: Cluster, at: number): Promise<string> {
  const reply = await cluster.http(at).request('GET', '/v1/kv/large/9?raw&stale')
  return reply.body.toString().slice(0, String(writes).length)
}

void t.test('of a server whose log no longer holds everything', async (t) => {
  const cluster = await startCluster(t, { raft: { compact_bytes: '1MiB' } })
  const leader = await cluster.waitForLeader()
  await outgrowLog(cluster, leader)
  const broken = leader
  const others = cluster.all.filter((at) => at !== broken)
  await cluster.kill(broken)
  await damageState(cluster.server(broken).dataFolder)
  const writer = new SteadyWriter(
    others.map((at) => cluster.variables(at)),
    'meanwhile',
  )
  t.teardown(() => writer.stop())
  await cluster.server(broken).start()
  await cluster.logged(broken, /the state cannot be opened; it is set aside and built anew/)
  await cluster.logged(broken, /the state of another server was put in place/)
  await eventuallyTrue('it has the latest large value', async () => {
    const value = await valueAt(cluster, broken).catch(() => '')
    return value === String(writes - 1)
  })
  await writer.stop()
  const rows = await equalReplicas(cluster, 'meanwhile/')
  t.equal(rows.length, writer.accepted.length, 'every accepted write is on every server')
  const reply = await cluster.http(broken).request('GET', '/v1/operator/raft/configuration')
  const { Servers } = JSON.parse(reply.body.toString()) as { Servers: { Voter: boolean }[] }
  t.same(
    Servers.map(({ Voter }) => Voter),
    [true, true, true],
    'it is the voter that it was',
  )
  t.equal(cluster.server(broken).crash, null)

  // It starts again from what it was sent, and its log follows that.
  await cluster.kill(broken)
  await cluster.restart(broken)
  await eventuallyTrue('it has it still', async () => {
    const value = await valueAt(cluster, broken).catch(() => '')
    return value === String(writes - 1)
  })
  const kept = await readdir(join(cluster.server(broken).dataFolder, 'state'))
  t.ok(kept.includes('damaged-1'), 'the damaged state is there to look at')
})
