/**
 * How fast jobs run: from a registration to a running allocation, many jobs, and many allocations of one job. All of it is asked over the
 * HTTP API, so the same measurement can be made of Nomad.
 */
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { present } from '../../src/lib/assert.ts'
import { Cluster } from '../../test/support/cluster.ts'
import { eventuallyTrue } from '../../test/support/eventually.ts'
import { freePorts } from '../../test/support/free-ports.ts'
import { HttpClient } from '../../test/support/http-client.ts'
import { mockTask } from '../../test/support/mock-task.ts'
import { usedBy } from '../../test/support/server-numbers.ts'
import { ServerProcess } from '../../test/support/server-process.ts'

const singles = 50
const manyJobs = 200
const manyAllocations = 300
const writersAtOnce = 16
const patience = { timeoutMs: 120_000, everyMs: 10 }
const mib = 1_048_576

const restMs = 20_000
const mb = 1_000_000

type Summary = { readonly Summary: Readonly<Record<string, Readonly<Record<string, number>>>> }

export type WorkloadsOptions = {
  /** Of an API on loopback whose nodes have `mock_driver`; null: three servers and a client agent are started. */
  readonly port: number | null
  /** Those are of an installed release, null: of this checkout. What they take of memory is told too. */
  readonly program: string | null
}

export async function measureWorkloads({ port, program }: WorkloadsOptions): Promise<void> {
  if (port !== null) {
    await measure(new HttpClient(port))
    return
  }
  const own = program === null ? {} : { program }
  const cluster = await Cluster.start({ gossip: true, logLevel: 'warn', ...own })
  const agent = await startAgent(cluster, own)
  try {
    const leader = await cluster.waitForLeader()
    await measure(cluster.http(leader))
    const pids = [...cluster.all.map((at) => cluster.server(at).pid), agent.pid]
    await sayResident('right after', pids)
    await delay(restMs)
    await sayResident(`after ${restMs / 1_000} s without work`, pids)
  } finally {
    await agent.kill()
    await cluster.stop()
  }
}

async function measure(http: HttpClient): Promise<void> {
  await until('a node is ready', async () => {
    const nodes = (await json(http, 'GET', '/v1/nodes')) as readonly { readonly Status: string }[]
    return nodes.some(({ Status }) => Status === 'ready')
  })
  const took: number[] = []
  for (let at = 0; at < singles; at += 1) {
    const startMs = performance.now()
    await register(http, `single-${at}`, 1)
    await until('it runs', async () => (await runningOf(http, `single-${at}`)) === 1)
    took.push(performance.now() - startMs)
  }
  took.sort((a, b) => a - b)
  const [p50, p99] = [took[Math.floor(singles / 2)] ?? 0, took.at(-1) ?? 0]
  say(
    `one service, from registration to running: p50 ${p50.toFixed(0)} ms, worst ${p99.toFixed(0)} ms`,
  )

  const startMs = performance.now()
  let next = 0
  await Promise.all(
    Array.from({ length: writersAtOnce }, async () => {
      while (next < manyJobs) await register(http, `many-${(next += 1)}`, 1)
    }),
  )
  const registeredMs = performance.now() - startMs
  await until('all run', async () => {
    const jobs = (await json(http, 'GET', '/v1/jobs?prefix=many-')) as readonly {
      readonly JobSummary: Summary
    }[]
    return jobs.length === manyJobs && jobs.every(({ JobSummary }) => runningIn(JobSummary) === 1)
  })
  const ranMs = performance.now() - startMs
  say(
    `${manyJobs} jobs of one allocation: registered at ${rate(manyJobs, registeredMs)}/s, running at ${rate(manyJobs, ranMs)}/s`,
  )

  const largeMs = performance.now()
  await register(http, 'large', manyAllocations)
  let placedMs = 0
  await until('all run', async () => {
    const { Summary } = (await json(http, 'GET', '/v1/job/large/summary')) as Summary
    const { Starting = 0, Running = 0 } = Summary['g'] ?? {}
    if (placedMs === 0 && Starting + Running === manyAllocations) {
      placedMs = performance.now() - largeMs
    }
    return Running === manyAllocations
  })
  const allMs = performance.now() - largeMs
  say(
    `${manyAllocations} allocations of one job: placed at ${rate(manyAllocations, placedMs)}/s, all running after ${(allMs / 1_000).toFixed(1)} s`,
  )
}

async function startAgent(
  cluster: Cluster,
  own: { readonly program?: string },
): Promise<ServerProcess> {
  const [http = 0, rpc = 0, gossip = 0, ops = 0] = await freePorts(4)
  const agent = new ServerProcess({
    name: 'c1',
    folder: cluster.folder,
    ports: { http, rpc, gossip, ops },
    pidFile: join(cluster.folder, 'pids'),
    ...own,
    config: {
      log_level: 'warn',
      client: {
        enabled: true,
        retry_join: cluster.servers.map(({ spec }) => `127.0.0.1:${spec.ports.gossip}`),
        cpu_total_compute: 100_000,
      },
      plugin: { mock_driver: { config: { enabled: true } } },
    },
  })
  await agent.start()
  return agent
}

async function register(http: HttpClient, id: string, count: number): Promise<void> {
  const group = { Name: 'g', Count: count, EphemeralDisk: { SizeMB: 10 }, Tasks: [mockTask] }
  const job = { ID: id, Name: id, Type: 'service', Datacenters: ['dc1'], TaskGroups: [group] }
  await json(http, 'PUT', '/v1/jobs', { Job: job })
}

async function runningOf(http: HttpClient, id: string): Promise<number> {
  return runningIn((await json(http, 'GET', `/v1/job/${id}/summary`)) as Summary)
}

function runningIn({ Summary }: Summary): number {
  return Summary['g']?.['Running'] ?? 0
}

async function json(http: HttpClient, method: string, url: string, body?: unknown) {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const { status, body: answer } = await http.request(method, url, sent)
  if (status !== 200) throw new Error(`${method} ${url}: ${status} ${answer.toString()}`)
  return JSON.parse(answer.toString()) as unknown
}

function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  return eventuallyTrue(what, holds, patience)
}

/** `pids`: of the servers, and of the client agent, the last one. Both map the same program, whose pages are in memory once. */
async function sayResident(when: string, pids: readonly (number | null)[]): Promise<void> {
  const used = await Promise.all(pids.map((pid) => usedBy(present(pid, 'a running process'))))
  const agent = present(used.pop(), 'a client agent')
  const inMb = (mebibytes: number): string => ((mebibytes * mib) / mb).toFixed(0)
  const servers = used.map(({ residentMiB }) => inMb(residentMiB)).join(', ')
  const largest = Math.max(...used.map(({ residentMiB }) => residentMiB))
  say(`resident ${when}: servers ${servers} MB, client agent ${inMb(agent.residentMiB)} MB`)
  say(
    `the largest server and the client agent: ${inMb(largest + agent.residentMiB)} MB, on one machine ${inMb(largest + agent.ownMiB)} MB`,
  )
}

function rate(count: number, ms: number): string {
  return ((count * 1_000) / ms).toFixed(0)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
