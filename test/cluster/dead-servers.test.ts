/** Servers that die and are replaced: by autopilot, or given up by an operator and made anew. */
import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { detection } from '../support/eventually.ts'
import {
  allHealthy,
  forceLeave,
  peerNamed,
  setAutopilot,
  statusBecomes,
  voters,
  votersBecome,
} from '../support/members.ts'

const program = fileURLToPath(new URL('../../bin/muster', import.meta.url))
/** The leader looks several times a second: what it would do it has done by then. */
const looksMs = 2_000

async function muster(cluster: Cluster, at: number, ...words: readonly string[]): Promise<string> {
  const { http } = cluster.server(at).spec.ports
  const run = promisify(execFile)
  const { stdout } = await run(program, [...words, '-address', `http://127.0.0.1:${http}`])
  return stdout
}

void t.test('a dead server is removed once another has taken its place', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  const quick = { ServerStabilizationTime: '1s' }
  await setAutopilot(cluster, { ...quick, CleanupDeadServers: false })
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

  await setAutopilot(cluster, { ...quick, MinQuorum: 4 }, leader)
  await delay(looksMs)
  t.equal(await voters(cluster, leader), 's1 s2 s3 s4', 'so many voters are left')

  await setAutopilot(cluster, quick, leader)
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

void t.test('a server given up and made anew under its name joins at once', async (t) => {
  const cluster = await startCluster(t, { gossip: true })
  await setAutopilot(cluster, { ServerStabilizationTime: '1s' })
  const leader = await cluster.waitForLeader()
  const others = [leader, (leader + 1) % 3]
  const gone = (leader + 2) % 3
  const node = `s${gone + 1}`
  for (const where of ['at its address', 'at another address'] as const) {
    const { ID } = await peerNamed(cluster, leader, node)
    await cluster.wipe(gone)
    for (const at of others) {
      await statusBecomes(cluster, at, `${node}.global`, 'failed', detection)
    }
    const rivals = others.map((at) => `s${at + 1}\\.global`).join('|')
    const doubts = await Promise.all(
      others.map((at) => muster(cluster, at, 'server', 'members', '-detailed')),
    )
    for (const doubt of doubts) {
      const line = doubt.split('\n').findLast((text) => text.startsWith(`${node}.global`)) ?? ''
      t.match(line, new RegExp(`(${rivals}) `), 'who doubted it')
      t.match(line, / (udp|tcp|udp and tcp) /, 'by which path')
      t.match(line, /no answer over UDP|told by/, 'why')
      t.match(line, /failed by /, 'what came of it')
    }
    t.match(doubts.join('\n'), /no answer over UDP.* TCP/, 'one of them asked itself')

    t.equal(await forceLeave(cluster, leader, node), 200)
    for (const at of others) await statusBecomes(cluster, at, `${node}.global`, 'left')
    const startMs = performance.now()
    if (where === 'at its address') await cluster.server(gone).start()
    else await cluster.move(gone)
    for (const at of others) await statusBecomes(cluster, at, `${node}.global`, 'alive')
    t.comment(`${where}: alive after ${((performance.now() - startMs) / 1_000).toFixed(1)} s`)
    await votersBecome(cluster, leader, 's1 s2 s3')
    t.not((await peerNamed(cluster, leader, node)).ID, ID, `${where} it is a new server`)
    await allHealthy(cluster, leader)
  }
})
