/**
 * Changes that nobody should notice: a leader that is told to stop, leadership that is moved, a follower that was away.
 * Election timeouts are long here, so that a gap shorter than one proves that nobody waited for it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startCluster, steadyLeadership, type Cluster } from '../support/cluster.ts'
import { eventuallyTrue } from '../support/eventually.ts'
import { SteadyWriter } from '../support/writer.ts'

const electionMs = 5_000
const raft = { election_timeout: `${electionMs}ms`, heartbeat_interval: '200ms' }

function writerAt(cluster: Cluster, at: number, prefix: string): SteadyWriter {
  return new SteadyWriter([cluster.variables(at)], prefix)
}

async function accepts(writer: SteadyWriter): Promise<void> {
  const before = writer.accepted.length
  await eventuallyTrue('writes go on', () => writer.accepted.length > before + 20)
}

void t.test('a leader that is told to stop hands over first', async (t) => {
  const cluster = await startCluster(t, { raft })
  const leader = await cluster.waitForLeader()
  const writer = writerAt(cluster, (leader + 1) % cluster.size, 'handover')
  await accepts(writer)
  writer.takeLongestGapMs()
  await cluster.terminate(leader)
  await accepts(writer)
  const gapMs = writer.takeLongestGapMs()
  await writer.stop()
  t.comment(`the longest gap between accepted writes was ${gapMs.toFixed(0)} ms`)
  t.equal(writer.failed, 0, 'no write failed')
  t.ok(gapMs < electionMs / 2, 'no election timeout passed')
  t.match(await cluster.server(leader).logTail(3), 'code 0', 'it ended by itself')
})

void t.test('leadership moves on request, and no write fails', async (t) => {
  const cluster = await startCluster(t, { raft })
  const leader = await cluster.waitForLeader()
  const writer = writerAt(cluster, (leader + 1) % cluster.size, 'moved')
  await accepts(writer)
  writer.takeLongestGapMs()
  await cluster.http(leader).json('PUT', '/v1/operator/raft/transfer-leadership')
  const successor = await cluster.waitForLeader({ except: leader })
  await accepts(writer)
  const gapMs = writer.takeLongestGapMs()
  await writer.stop()
  t.comment(`the longest gap between accepted writes was ${gapMs.toFixed(0)} ms`)
  t.not(successor, leader)
  t.equal(writer.failed, 0, 'no write failed')
  t.ok(gapMs < electionMs / 2, 'no election timeout passed')
})

void t.test('a follower that was isolated comes back without disturbing the leader', async (t) => {
  const cluster = await startCluster(t, { proxies: true, raft: steadyLeadership })
  const leader = await cluster.waitForLeader()
  const isolated = (leader + 1) % cluster.size
  const writer = writerAt(cluster, leader, 'isolated')
  await accepts(writer)
  writer.takeLongestGapMs()
  await cluster.network.isolate(isolated)
  // Long enough for it to want to be elected several times.
  await delay(6_000)
  await cluster.network.heal()
  await eventuallyTrue('it follows again', async () => {
    const latest = writer.accepted.at(-1)
    if (latest === undefined) return false
    const read = await cluster.variables(isolated).read(latest.path, 'stale')
    return read.type === 'ok' && read.seen.value === latest.value
  })
  await accepts(writer)
  const gapMs = writer.takeLongestGapMs()
  await writer.stop()
  t.comment(`the longest gap between accepted writes was ${gapMs.toFixed(0)} ms`)
  t.equal(writer.failed, 0, 'no write failed')
  t.equal(await cluster.leader(), leader, 'the leader is the same')
})
