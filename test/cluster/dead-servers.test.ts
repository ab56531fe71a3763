/** Servers that die and are replaced: autopilot removes them, one for one. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startCluster } from '../support/cluster.ts'
import { detection } from '../support/eventually.ts'
import {
  allHealthy,
  patientAutopilot,
  setAutopilot,
  statusBecomes,
  voters,
  votersBecome,
} from '../support/members.ts'

/** The leader looks several times a second: what it would do it has done by then. */
const looksMs = 2_000
/** What a leader saw of times ends with its leadership: here it shall last. */
const raft = { election_timeout: '5s', heartbeat_interval: '200ms' }

void t.test('a dead server is removed once another has taken its place', async (t) => {
  const cluster = await startCluster(t, { gossip: true, raft })
  await setAutopilot(cluster, { ...patientAutopilot, CleanupDeadServers: false })
  const leader = await cluster.waitForLeader()
  const first = (leader + 1) % 3
  const second = (leader + 2) % 3
  const name = (at: number): string => `s${at + 1}`
  const without = (...gone: readonly number[]): string =>
    cluster.all
      .filter((at) => !gone.includes(at))
      .map(name)
      .join(' ')

  await cluster.kill(first)
  await statusBecomes(cluster, leader, `${name(first)}.global`, 'failed', detection)
  await cluster.add()
  await votersBecome(cluster, leader, 's1 s2 s3 s4')
  await delay(looksMs)
  t.equal(await voters(cluster, leader), 's1 s2 s3 s4', 'without the cleanup it stays')

  await setAutopilot(cluster, { ...patientAutopilot, MinQuorum: 4 }, leader)
  await delay(looksMs)
  t.equal(await voters(cluster, leader), 's1 s2 s3 s4', 'so many voters are left')

  await setAutopilot(cluster, patientAutopilot, leader)
  await votersBecome(cluster, leader, without(first))
  await cluster.logged(leader, /failed and was replaced was removed from the cluster/)

  await cluster.kill(second)
  await statusBecomes(cluster, leader, `${name(second)}.global`, 'failed', detection)
  await delay(looksMs)
  t.equal(await voters(cluster, leader), without(first), 'one replacement stands for one')
  await cluster.add()
  await votersBecome(cluster, leader, without(first, second))
  await allHealthy(cluster, leader)
})
