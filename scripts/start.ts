/**
 * `npm start`: a cluster on loopback, a process for each server and client agent, until Ctrl-C.
 */
import { fileURLToPath } from 'node:url'
import { existing, prepare, tail, wipe } from './start/folder.ts'
import {
  HOST,
  parseStartOptions,
  planAgents,
  type AgentPlan,
  type StartOptions,
} from './start/options.ts'
import { makeCertificates } from './start/certificates.ts'
import { takenPorts, takenPortsText } from './start/ports.ts'
import { ServerProcesses } from './start/processes.ts'
import { clusterReport, shortPath } from './start/report.ts'

const SERVERS = 3
/** Data of a million rows opens well within this. */
const LEADER_WAIT_MS = 60_000
/** Who may not see nodes without a token is not told more by waiting. */
const NODES_WAIT_MS = 5_000
const POLL_MS = 100
const REQUEST_MS = 2_000
const TAIL_LINES = 20
/** One Ctrl-C may arrive twice: from the terminal and from npm. */
const SAME_SIGNAL_MS = 1_000

const binary = fileURLToPath(new URL('../bin/muster', import.meta.url))
const cwd = process.cwd()
/** When the first signal came, on the monotonic clock. */
let stopRequestedMs: number | null = null
/** Whether the cluster was up once: before that, one server's end is the start's failure. */
let ready = false

// A full disk or a reader that went away must not end this process: the agents would be left running.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {})

try {
  await main(parseStartOptions(process.argv.slice(2), cwd))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function main(options: StartOptions): Promise<void> {
  const plans = planAgents({
    ...options,
    servers: await decideServers(options),
    clients:
      options.clients ?? (options.fresh ? 0 : (await existing(options.dataDir, 'client')).length),
  })
  const taken = await takenPorts(plans)
  if (taken.length > 0) throw new Error(takenPortsText(taken))
  if (options.fresh) await wipe(options.dataDir)
  const tls = options.tls ? await makeCertificates(options.dataDir, plans) : null
  await prepare(options.dataDir, plans, tls?.folder)
  const cluster = new ServerProcesses((ended, how) => void reportEnd(plans, cluster, ended, how))
  stopOnSignals(cluster)
  try {
    await bringUp(options, plans, cluster, tls?.caFile ?? null)
  } catch (error) {
    await cluster.stop()
    // Another cluster may have begun at the same time, after the ports were found to be free.
    const taken = await takenPorts(plans)
    throw taken.length > 0 ? new Error(takenPortsText(taken), { cause: error }) : error
  }
}

/** Starts all and prints how to use them. Throws when they do not become a cluster; nothing is stopped then. */
async function bringUp(
  options: StartOptions,
  plans: readonly AgentPlan[],
  cluster: ServerProcesses,
  caFile: string | null,
): Promise<void> {
  console.log(`Starting ${counted(plans)} …`)
  await start(plans, cluster, 'server')
  // Client agents would join whatever cluster has the servers' ports.
  if (await haveStarted(cluster)) await start(plans, cluster, 'client')
  const leaderPort = await waitForLeader(plans, cluster, caFile === null ? 'http' : 'https')
  if (stopRequested()) return
  if (leaderPort === null) {
    throw new Error(
      cluster.running().length < plans.length
        ? 'Not all of them could start.'
        : `No leader within ${LEADER_WAIT_MS / 1000} s; the logs are in ${shortPath(options.dataDir, cwd)}.`,
    )
  }
  await waitForNodes(plans, caFile === null ? 'http' : 'https')
  if (stopRequested()) return
  if (cluster.running().length < plans.length) throw new Error('Not all of them could start.')
  ready = true
  console.log(`\n${clusterReport(plans, leaderPort, cwd, caFile)}\n`)
}

async function start(
  plans: readonly AgentPlan[],
  cluster: ServerProcesses,
  kind: AgentPlan['kind'],
): Promise<void> {
  for (const plan of plans.filter((known) => known.kind === kind)) {
    const config = plan.configFiles.flatMap((file) => ['-config', file])
    await cluster.start(plan.name, [binary, 'agent', ...config], plan.logFile)
  }
}

/** False when time is up, one ended, or all are to stop. */
async function haveStarted(cluster: ServerProcesses): Promise<boolean> {
  const count = cluster.running().length
  const deadline = performance.now() + LEADER_WAIT_MS
  while (performance.now() < deadline && !stopRequested()) {
    if (await cluster.allStarted()) return true
    if (cluster.running().length < count) return false
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return false
}

/** `3 servers and 1 client agent` */
function counted(plans: readonly AgentPlan[]): string {
  const servers = plans.filter(({ kind }) => kind === 'server').length
  const clients = plans.length - servers
  const of = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`
  return clients === 0
    ? of(servers, 'server')
    : `${of(servers, 'server')} and ${of(clients, 'client agent')}`
}

/** The number that was asked for must be the number the data has. */
async function decideServers(options: StartOptions): Promise<number> {
  const found = options.fresh ? [] : await existing(options.dataDir, 'server')
  if (found.length === 0) return options.servers ?? SERVERS
  if (options.servers !== null && options.servers !== found.length) {
    throw new Error(
      `${shortPath(options.dataDir, cwd)} holds a cluster of ${found.length}: leave --servers out, add --fresh to begin anew, or choose another --data folder`,
    )
  }
  return found.length
}

/** The port of the leader's address once a server knows one, null when time is up or a server ended. */
async function waitForLeader(
  plans: readonly AgentPlan[],
  cluster: ServerProcesses,
  scheme: 'http' | 'https',
): Promise<number | null> {
  const deadline = performance.now() + LEADER_WAIT_MS
  while (performance.now() < deadline && !stopRequested()) {
    if (cluster.running().length < plans.length) return null
    const ports = await Promise.all(
      plans.map((plan) => askLeader(`${scheme}://${HOST}:${plan.ports.http}`)),
    )
    const [known] = ports
    // All of them: a server that does not answer yet would make the printed lines fail.
    const isKnown = known !== null && known !== undefined && ports.every((port) => port === known)
    if (isKnown && (await cluster.allStarted())) return known
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return null
}

/** So that the first job finds its nodes. Resolves when time is up, too. */
async function waitForNodes(plans: readonly AgentPlan[], scheme: 'http' | 'https'): Promise<void> {
  const count = plans.filter(({ kind }) => kind === 'client').length
  const api = `${scheme}://${HOST}:${plans[0]?.ports.http}`
  const deadline = performance.now() + NODES_WAIT_MS
  while (performance.now() < deadline && !stopRequested()) {
    if ((await readyNodes(api)) >= count) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}

async function readyNodes(api: string): Promise<number> {
  try {
    const response = await fetch(`${api}/v1/nodes`, { signal: AbortSignal.timeout(REQUEST_MS) })
    const nodes: unknown = response.ok ? await response.json() : []
    if (!Array.isArray(nodes)) return 0
    return nodes.filter((node: { Status?: unknown } | null) => node?.Status === 'ready').length
  } catch {
    return 0
  }
}

async function askLeader(api: string): Promise<number | null> {
  try {
    const response = await fetch(`${api}/v1/status/leader`, {
      signal: AbortSignal.timeout(REQUEST_MS),
    })
    const address: unknown = response.ok ? await response.json() : null
    const match = typeof address === 'string' ? /:(\d+)$/.exec(address) : null
    return match === null ? null : Number(match[1])
  } catch {
    return null
  }
}

async function reportEnd(
  plans: readonly AgentPlan[],
  cluster: ServerProcesses,
  ended: { readonly name: string; readonly pid: number },
  how: string,
): Promise<void> {
  const plan = plans.find(({ name }) => name === ended.name)
  if (plan === undefined) return
  const lines = await tail(plan.logFile, TAIL_LINES)
  console.error(
    `\n${ended.name} (process ${ended.pid}) ended with ${how}. Its last log lines:\n${lines}`,
  )
  if (!ready) return
  if (cluster.running().length === 0) {
    console.error('\nNo server is left.')
    process.exitCode = 1
    return
  }
  const config = plan.configFiles.map((file) => ` -config ${shortPath(file, cwd)}`).join('')
  console.error(`\nThe others go on. To have it back: bin/muster agent${config}`)
}

function stopRequested(): boolean {
  return stopRequestedMs !== null
}

function stopOnSignals(cluster: ServerProcesses): void {
  const onSignal = (): void => {
    const now = performance.now()
    if (stopRequestedMs === null) {
      stopRequestedMs = now
      console.log('\nStopping …')
      void cluster.stop().then((killed) => {
        for (const name of killed) console.error(`${name} did not stop in time and was killed`)
        console.log('Stopped.')
        process.exit(0)
      })
    } else if (now - stopRequestedMs > SAME_SIGNAL_MS) {
      cluster.kill()
      process.exit(1)
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
}
