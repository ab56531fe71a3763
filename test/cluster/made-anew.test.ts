/** A machine that is made anew under the name of one that was given up, and what is told of the one that is gone. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startCluster, type Cluster, steadyLeadership } from '../support/cluster.ts'
import { detection } from '../support/eventually.ts'
import {
  allHealthy,
  forceLeave,
  peerNamed,
  setAutopilot,
  statusBecomes,
  votersBecome,
} from '../support/members.ts'

const program = fileURLToPath(new URL('../../bin/muster', import.meta.url))

async function muster(cluster: Cluster, at: number, ...words: readonly string[]): Promise<string> {
  const { http } = cluster.server(at).spec.ports
  const run = promisify(execFile)
  const { stdout } = await run(program, [...words, '-address', `http://127.0.0.1:${http}`])
  return stdout
}

void t.test('a server given up and made anew under its name joins at once', async (t) => {
  const cluster = await startCluster(t, { gossip: true, raft: steadyLeadership })
  await setAutopilot(cluster)
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
    // One of them found it by itself: it says who doubted, by which path, why, and what came of it.
    const doubts = await Promise.all(
      others.map((at) => muster(cluster, at, 'server', 'members', '-detailed')),
    )
    const rivals = others.map((at) => `s${at + 1}\\.global`).join('|')
    t.match(
      doubts.join('\n'),
      new RegExp(
        `^${node}\\.global .*Z +(${rivals}) +udp and tcp +no answer over UDP.* TCP.*failed by (${rivals}) at `,
        'm',
      ),
    )

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
