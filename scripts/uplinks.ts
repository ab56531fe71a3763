/**
 * Simulated client agents, each with its uplink over a real WebSocket, beside a cluster of three: what they cost the leader.
 *
 *     node scripts/uplinks.ts [agents] [heartbeats a second]
 *
 * Prints the share of a core of each server while heartbeats come, and what an uplink takes of its memory.
 */
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import { openUplinkSocket } from '../src/client-agent/uplink-socket.ts'
import { systemClock } from '../src/lib/clock.ts'
import { codeOf, MusterError } from '../src/lib/errors.ts'
import { silentLogger } from '../src/lib/log.ts'
import { Uplink, UplinkHost } from '../src/rpc/uplink.ts'
import { secretOf } from '../test/domains/nodes/agent.ts'
import { specOf } from '../test/domains/nodes/spec.ts'
import { Cluster } from '../test/support/cluster.ts'

const agents = Number(process.argv[2] ?? 10_000)
const perSecond = Number(process.argv[3] ?? 50)
/** Agents that register at once. */
const atOnce = 64
const measuredMs = 40_000
const settleMs = 10_000
const ticksPerSecond = 100
const againMs = 500
const kib = 1_024

const cluster = await Cluster.start({ server: { max_heartbeats_per_second: perSecond } })
const stop = new AbortController()
const host = new UplinkHost(systemClock, silentLogger)
try {
  const leader = await cluster.waitForLeader()
  const before = await Promise.all(cluster.all.map((at) => usageOf(at)))
  let next = 0
  const startMs = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (next < agents) await begin((next += 1))
    }),
  )
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
  stop.abort()
  await cluster.stop()
}
process.exit()

/** Resolves once the agent is registered; its heartbeats go on. */
async function begin(number: number): Promise<void> {
  const name = `agent-${number}`
  const node = { nodeId: randomUUID(), name, secret: secretOf('s'), token: null }
  const port = cluster.server(number % cluster.size).spec.ports.http
  const place = { secure: false, host: '127.0.0.1', port }
  const uplink = await openUplinkSocket({ tlsOf: () => undefined }, place, node, {
    clock: systemClock,
    signal: stop.signal,
    opened: (socket) =>
      new Uplink(socket, {
        host,
        side: 'agent',
        peer: 'server',
        onCall: async () => true,
        onStream: () => Promise.reject(new MusterError('not_found', 'no streams')),
        onClose: () => {},
      }),
  })
  const ask = (method: string, args: unknown) =>
    uplink.call({ method, args, token: null, remote: '', requestId: method, timeoutMs: 30_000 })
  for (;;) {
    try {
      await ask('nodes.register', { spec: specOf(name) })
      break
    } catch (error) {
      // The leader takes in so many new nodes a second, and no more.
      if (codeOf(error) !== 'overloaded') throw error
      await delay(againMs)
    }
  }
  const beat = async (): Promise<void> => {
    const { ttlMs } = (await ask('nodes.heartbeat', {})) as { readonly ttlMs: number }
    setTimeout(() => void beat().catch(() => {}), ttlMs / 2)
  }
  await beat()
}

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
