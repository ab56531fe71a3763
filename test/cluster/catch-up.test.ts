/** Servers that missed much, or everything, catch up while writes go on. */
import t from 'tap'
import { amount } from '../support/randomness.ts'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { equalReplicas } from '../support/replicas.ts'
import { SteadyWriter } from '../support/writer.ts'

/** Far more than the log keeps. */
const missedWrites = amount('MISSED_WRITES', { gate: 30_000, long: 30_000 })
const writersAtOnce = 48
/** Small, so that the log no longer holds what was missed and a snapshot has to be sent. */
const raft = { compact_bytes: '1MiB' }

void t.test(`a server that was away for ${missedWrites} writes catches up`, async (t) => {
  const cluster = await startCluster(t, { raft })
  const away = await cluster.follower()
  await cluster.kill(away)
  await writeMany(cluster, await cluster.waitForLeader(), missedWrites)
  await catchesUpUnderWrites(t, cluster, away)
})

void t.test('a server that lost its disk catches up', async (t) => {
  const cluster = await startCluster(t, { raft })
  await writeMany(cluster, await cluster.waitForLeader(), 4_000)
  const wiped = await cluster.follower()
  await cluster.wipe(wiped)
  await catchesUpUnderWrites(t, cluster, wiped)
})

async function catchesUpUnderWrites(
  t: { equal(a: unknown, b: unknown, message: string): unknown; comment(text: string): unknown },
  cluster: Cluster,
  at: number,
): Promise<void> {
  const leader = await cluster.waitForLeader({ except: at })
  const writer = new SteadyWriter([cluster.variables(leader)], 'meanwhile')
  const startMs = performance.now()
  await cluster.restart(at)
  await cluster.waitForLeader()
  while (!(await hasLatest(cluster, at, writer))) {
    if (performance.now() - startMs > 60_000) throw new Error('it did not catch up within 60 s')
  }
  t.comment(`caught up after ${(performance.now() - startMs).toFixed(0)} ms`)
  await writer.stop()
  t.equal(writer.failed, 0, 'writes went on undisturbed')
  const missed = await equalReplicas(cluster, 'missed/')
  const meanwhile = await equalReplicas(cluster, 'meanwhile/')
  t.comment(`${missed.length} and ${meanwhile.length} variables`)
  t.equal(meanwhile.length, writer.accepted.length, 'every accepted write is on every server')
}

async function hasLatest(cluster: Cluster, at: number, writer: SteadyWriter): Promise<boolean> {
  const latest = writer.accepted.at(-1)
  if (latest === undefined) return false
  const read = await cluster.variables(at, 1_000).read(latest.path, 'stale')
  return read.type === 'ok' && read.seen.value === latest.value
}

async function writeMany(cluster: Cluster, at: number, count: number): Promise<void> {
  const variables = cluster.variables(at)
  const filler = 'x'.repeat(300)
  let next = 0
  const lane = async (): Promise<void> => {
    while (next < count) {
      const number = next
      next += 1
      const outcome = await variables.put(`missed/${number % 5_000}`, `${number} ${filler}`)
      if (outcome.type !== 'ok') throw new Error(`write ${number}: ${outcome.type}`)
    }
  }
  await Promise.all(Array.from({ length: writersAtOnce }, lane))
}
