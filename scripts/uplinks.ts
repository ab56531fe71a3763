/**
 * Simulated client agents, each with its uplink over a real WebSocket, beside a cluster of three: what they cost the leader.
 *
 *     node scripts/uplinks.ts [agents] [heartbeats a second]
 *
 * Prints the share of a core of each server while heartbeats come, and what an uplink takes of its memory.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Cluster } from '../test/support/cluster.ts'
import { SimulatedAgents } from './uplinks/agents.ts'

const agents = Number(process.argv[2] ?? 10_000)
const perSecond = Number(process.argv[3] ?? 50)
const measuredMs = 40_000
const settleMs = 10_000
const ticksPerSecond = 100
const kib = 1_024

const cluster = await Cluster.start({ server: { max_heartbeats_per_second: perSecond } })
const ports = cluster.servers.map(({ spec }) => spec.ports.http)
const simulated = new SimulatedAgents({ ports, works: true })
try {
  const leader = await cluster.waitForLeader()
  const before = await Promise.all(cluster.all.map((at) => usageOf(at)))
  const startMs = performance.now()
  await simulated.start(agents)
  const tookMs = performance.now() - startMs
  say(`${agents} agents registered in ${(tookMs / 1_000).toFixed(1)} s`)
  await delay(settleMs)
  const from = await Promise.all(cluster.all.map((at) => usageOf(at)))
  await delay(measuredMs)
  const to = await Promise.all(cluster.all.map((at) => usageOf(at)))
  const shown = (await cluster.http(leader).json('GET', '/v1/nodes')) as { Status: string }[]
  say(
    `${shown.filter(({ Status }) => Status === 'ready').length} of ${shown.length} nodes are ready`,
  )
  for (const at of cluster.all) {
    const [first, begun, ended] = [before[at], from[at], to[at]]
    if (first === undefined || begun === undefined || ended === undefined) continue
    const share = (100 * (ended.cpuMs - begun.cpuMs)) / measuredMs
    const each = (ended.residentKib - first.residentKib) / (agents / cluster.size)
    const who = at === leader ? 'leader' : 'follower'
    say(
      `${who}: ${share.toFixed(1)} % of a core, ${each.toFixed(1)} KiB resident for each of its uplinks`,
    )
  }
} finally {
  simulated.stop()
  await cluster.stop()
}
process.exit()

async function usageOf(
  at: number,
): Promise<{ readonly cpuMs: number; readonly residentKib: number }> {
  const { pid } = cluster.server(at)
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  const residentKib = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0)
  return {
    cpuMs: (ticks * 1_000) / ticksPerSecond,
    residentKib: Math.round(residentKib * kib) / kib,
  }
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
