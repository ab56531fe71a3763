/**
 * What an operator does to five servers while somebody writes: one more, one less, each restarted, the leader last.
 * Election timeouts are long here, so that a gap shorter than half of one proves that nobody waited for it.
 */
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import {
  allHealthy,
  peerNamed,
  removePeer,
  setAutopilot,
  votersBecome,
} from '../support/members.ts'
import { SteadyWriter } from '../support/writer.ts'

const electionMs = 5_000
const raft = { election_timeout: `${electionMs}ms`, heartbeat_interval: '200ms' }
/** Every value that was acknowledged is asked for, so many at a time. */
const readsAtOnce = 32

async function accept(writers: readonly SteadyWriter[]): Promise<void> {
  const before = writers.map(({ accepted }) => accepted.length)
  await eventuallyTrue('writes go on', () =>
    writers.every(({ accepted }, at) => accepted.length > (before[at] ?? 0) + 20),
  )
}

/**
 * Starts it, and waits as an operator does before the next one: first for itself to follow, as right after a stop the
 * leader has heard of it a moment ago and calls it healthy.
 */
async function comesBack(cluster: Cluster, at: number): Promise<void> {
  await cluster.server(at).start()
  await eventuallyTrue('it follows', async () => (await cluster.leaderAsSeenBy(at)) !== null)
  await allHealthy(cluster, at)
}

/** Paths of acknowledged writes that are not there, or hold something else. */
async function lost(cluster: Cluster, at: number, writer: SteadyWriter): Promise<string[]> {
  const missing: string[] = []
  const waiting = writer.accepted.values()
  const work = async (): Promise<void> => {
    for (const { path, value } of waiting) {
      const outcome = await cluster.variables(at).read(path, 'stale')
      if (outcome.type !== 'ok' || outcome.seen.value !== value) missing.push(path)
    }
  }
  await Promise.all(Array.from({ length: readsAtOnce }, work))
  return missing
}

void t.test('five servers get one more, lose one, and are restarted one by one', async (t) => {
  const cluster = await startCluster(t, { servers: 5, gossip: true, raft })
  await setAutopilot(cluster)
  // At two servers, so that one writes through a follower, and one of them loses its server to a restart.
  const writers = [0, 2].map((first) => {
    const order = cluster.all.map((at) => cluster.variables((first + at) % cluster.size))
    return new SteadyWriter(order, `rolling-${first}`)
  })
  const stop = () => Promise.all(writers.map((writer) => writer.stop()))
  t.teardown(stop)
  const gapsMs = new Map<string, number>()
  const during = async (what: string, act: () => Promise<unknown>): Promise<void> => {
    await accept(writers)
    for (const writer of writers) writer.takeLongestGapMs()
    await act()
    await accept(writers)
    gapsMs.set(what, Math.max(...writers.map((writer) => writer.takeLongestGapMs())))
  }

  await during('one more', async () => {
    await cluster.add()
    await votersBecome(cluster, 0, 's1 s2 s3 s4 s5 s6')
  })

  const leader = await cluster.waitForLeader()
  const gone = [4, 3].find((at) => at !== leader) ?? 4
  const name = `s${gone + 1}`
  const rest = cluster.all.filter((at) => at !== gone)
  await during('one less', async () => {
    const { ID } = await peerNamed(cluster, leader, name)
    await cluster.terminate(gone)
    t.equal(await removePeer(cluster, rest[0] ?? 0, ID), 200)
    await votersBecome(cluster, leader, rest.map((at) => `s${at + 1}`).join(' '))
  })

  for (const at of rest.filter((at) => at !== leader)) {
    await during(`s${at + 1} restarts`, async () => {
      await cluster.terminate(at)
      await comesBack(cluster, at)
    })
  }
  await during('the leader restarts', async () => {
    await cluster.terminate(leader)
    await comesBack(cluster, leader)
    t.not(await cluster.waitForLeader(), leader, 'leadership went to another')
  })

  await stop()
  for (const [what, gapMs] of gapsMs) {
    t.comment(`${what}: the longest gap between accepted writes was ${gapMs.toFixed(0)} ms`)
    t.ok(gapMs < electionMs / 2, `${what}: no election timeout passed`)
  }
  for (const writer of writers) {
    const { accepted, failed } = writer
    t.comment(`${accepted.length} writes were accepted, ${failed} were not`)
    for (const at of rest.slice(-2)) {
      await eventuallyTrue('it has the newest write', async () => {
        const newest = accepted.at(-1)
        if (newest === undefined) return false
        const read = await cluster.variables(at).read(newest.path, 'stale')
        return read.type === 'ok' && read.seen.value === newest.value
      })
      t.same(await lost(cluster, at, writer), [], `s${at + 1} has all that was acknowledged`)
    }
  }
})
