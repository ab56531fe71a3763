/**
 * Many allocations on many simulated nodes, beside a cluster of three: how many are placed a second, whether a leader or a heartbeat
 * is lost meanwhile, and what servers take of memory; then all of them are stopped and collected.
 *
 *     npm run placements -- [--nodes 5000] [--jobs 100] [--count 100]
 *
 * Jobs are registered and looked at over the HTTP API.
 */
import { parseArgs } from 'node:util'
import { Cluster } from '../test/support/cluster.ts'
import { eventuallyTrue } from '../test/support/eventually.ts'
import { metricsOf, usedBy } from '../test/support/server-numbers.ts'
import { driver } from '../test/scheduler/cluster.ts'
import { SimulatedAgents } from './uplinks/agents.ts'

const patience = { timeoutMs: 600_000, everyMs: 250 }
const writersAtOnce = 16
const job = (at: number): string => `job-${at}`

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    jobs: { type: 'string', default: '100' },
    count: { type: 'string', default: '100' },
  },
})
const [nodes, jobs, count] = [values.nodes, values.jobs, values.count].map(Number)
if (!nodes || !jobs || !count) throw new Error('--nodes, --jobs and --count are numbers above 0')
const wanted = jobs * count

type Summary = Readonly<Record<string, Readonly<Record<string, number>>>>
type Stub = { readonly JobSummary: { readonly Summary: Summary } }

const cluster = await Cluster.start({ logLevel: 'warn' })
const ports = cluster.servers.map(({ spec }) => spec.ports.http)
const resources = { cpuMhz: 4_000, memoryMb: 8_192, diskMb: 90_000, networks: [], nodeNetworks: [] }
const agents = new SimulatedAgents({
  ports,
  spec: { drivers: [driver('mock_driver')], resources },
  works: true,
})
try {
  const leader = await cluster.waitForLeader()
  const http = cluster.http(leader)
  const { ports: own } = cluster.server(leader).spec
  let sinceMs = performance.now()
  await agents.start(nodes)
  say(`${nodes} nodes registered in ${secondsSince(sinceMs)} s`)
  await until('all nodes are ready', async () => {
    const shown = (await http.json('GET', '/v1/nodes')) as readonly { readonly Status: string }[]
    return shown.filter(({ Status }) => Status === 'ready').length === nodes
  })
  await tellUsed('with the nodes')
  const before = await metricsOf(own.ops)

  sinceMs = performance.now()
  await inTurns((at) => register(at, count))
  say(`${jobs} jobs of ${count} registered in ${secondsSince(sinceMs)} s`)
  let placedMs = 0
  await until('all run', async () => {
    const { placed, running } = await counted()
    if (placedMs === 0 && placed === wanted) placedMs = performance.now() - sinceMs
    return running === wanted
  })
  say(
    `${wanted} allocations placed in ${(placedMs / 1_000).toFixed(1)} s, ${((wanted * 1_000) / placedMs).toFixed(0)}/s; all running after ${secondsSince(sinceMs)} s`,
  )
  await tellUsed('with the allocations')

  sinceMs = performance.now()
  await inTurns((at) => ask('DELETE', `/v1/job/${job(at)}`))
  await until('all have ended', async () => (await counted()).running === 0)
  say(`all stopped after ${secondsSince(sinceMs)} s`)
  sinceMs = performance.now()
  await until('all are collected', async () => {
    await ask('PUT', '/v1/system/gc')
    const left = (await http.json('GET', '/v1/allocations?per_page=1')) as readonly unknown[]
    return left.length === 0
  })
  say(`all collected after ${secondsSince(sinceMs)} s`)

  const after = await metricsOf(own.ops)
  const changes = 'muster_raft_leader_changes_total'
  say(`changes of leaders: ${after(changes) - before(changes)}`)
  const shown = (await http.json('GET', '/v1/nodes')) as readonly { readonly Status: string }[]
  say(`${shown.filter(({ Status }) => Status === 'ready').length} of ${nodes} nodes are ready`)
  say(`calls of agents that failed: ${JSON.stringify([...agents.failures])}`)
  await tellUsed('in the end')

  async function tellUsed(when: string): Promise<void> {
    const used = await Promise.all(cluster.all.map((at) => usedBy(cluster.server(at).pid ?? 0)))
    const words = used.map(({ residentMiB, cpuSeconds }, at) => {
      const who = at === leader ? 'leader' : 'follower'
      return `${who} ${residentMiB.toFixed(0)} MiB, ${cpuSeconds.toFixed(1)} s`
    })
    say(`resident and processor time ${when}: ${words.join('; ')}`)
  }

  async function counted(): Promise<{ readonly placed: number; readonly running: number }> {
    const stubs = (await http.json('GET', '/v1/jobs?prefix=job-')) as readonly Stub[]
    const groups = stubs.map(({ JobSummary }) => JobSummary.Summary['g'] ?? {})
    const sum = (names: readonly string[]) =>
      groups.reduce(
        (all, group) => all + names.reduce((own, name) => own + (group[name] ?? 0), 0),
        0,
      )
    return { placed: sum(['Starting', 'Running']), running: sum(['Running']) }
  }

  async function register(at: number, many: number): Promise<void> {
    const Resources = { CPU: 100, MemoryMB: 64 }
    const LogConfig = { MaxFiles: 1, MaxFileSizeMB: 1 }
    const task = { Name: 'main', Driver: 'mock_driver', Resources, LogConfig }
    const group = { Name: 'g', Count: many, EphemeralDisk: { SizeMB: 10 }, Tasks: [task] }
    const Job = { ID: job(at), Name: job(at), Datacenters: ['dc1'], TaskGroups: [group] }
    await ask('PUT', '/v1/jobs', { Job })
  }

  async function ask(method: string, url: string, body?: unknown): Promise<void> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await http.request(method, url, sent)
    if (answer.status !== 200) throw new Error(`${method} ${url}: ${answer.body.toString()}`)
  }
} finally {
  agents.stop()
  await cluster.stop()
}
process.exit()

/** For each job, some at a time. */
async function inTurns(run: (at: number) => Promise<void>): Promise<void> {
  let next = 0
  const some = async (): Promise<void> => {
    while (next < (jobs ?? 0)) await run((next += 1))
  }
  await Promise.all(Array.from({ length: writersAtOnce }, some))
}

function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  return eventuallyTrue(what, holds, patience)
}

function secondsSince(ms: number): string {
  return ((performance.now() - ms) / 1_000).toFixed(1)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
