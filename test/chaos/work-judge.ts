/** What must hold of work at every moment, as servers tell it, and what of it in the end, on the machines too. */
import { setTimeout as delay } from 'node:timers/promises'
import { randomInteger, type Random } from '../../src/lib/random.ts'
import type { Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import type { TaskWatch } from '../support/task-watch.ts'
import { taskCpu, type Once, type Wanted } from './job-clients.ts'

type Allocation = {
  readonly ID: string
  readonly Name: string
  readonly JobID: string
  readonly NodeName: string
  readonly ClientStatus: string
  readonly DesiredStatus: string
}

const everyMs = 300
const askedMs = 2_000
const settledMs = 120_000
const ended: readonly string[] = ['complete', 'failed', 'lost']

/** Looks again and again, and keeps what did not hold. */
export class Invariants {
  readonly failures: string[] = []
  looks = 0
  readonly #cluster: Cluster
  readonly #random: Random
  /** Of each node. */
  readonly #cpu: number
  #isStopped = false
  readonly #running: Promise<void>

  constructor(cluster: Cluster, random: Random, cpu: number) {
    this.#cluster = cluster
    this.#random = random
    this.#cpu = cpu
    this.#running = this.#run()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const at = randomInteger(this.#random, 0, this.#cluster.size)
      const rows = await this.#cluster
        .http(at)
        .json('GET', '/v1/allocations?namespace=*', { timeoutMs: askedMs })
        .catch(() => null)
      if (rows !== null) this.#judge(rows as readonly Allocation[])
      await delay(everyMs)
    }
  }

  #judge(rows: readonly Allocation[]): void {
    this.looks += 1
    const takes = rows.filter(({ ClientStatus }) => !ended.includes(ClientStatus))
    for (const [node, some] of Map.groupBy(takes, ({ NodeName }) => NodeName)) {
      const cpu = some.length * taskCpu
      if (cpu > this.#cpu) this.#fail(`${node} has ${cpu} MHz of ${this.#cpu} taken`)
    }
    const live = takes.filter(({ DesiredStatus }) => DesiredStatus === 'run')
    for (const [name, some] of Map.groupBy(live, ({ Name }) => Name)) {
      if (some.length > 1) this.#fail(`${name} is live as ${some.map(({ ID }) => ID).join(', ')}`)
    }
  }

  #fail(what: string): void {
    if (this.failures.length < 20) this.failures.push(what)
  }
}

/** With all whole and no client at work: everything that is wanted runs, once, and nothing else. Returns what does not hold. */
export async function settles(
  cluster: Cluster,
  watch: TaskWatch,
  wanted: readonly Wanted[],
  acknowledged: readonly Once[],
): Promise<readonly string[]> {
  let unsettled: readonly string[] = ['nothing was seen']
  try {
    await eventually(
      'all that is wanted runs',
      async () => {
        unsettled = await notYet(cluster, watch, wanted)
        return unsettled.length === 0 ? true : undefined
      },
      { timeoutMs: settledMs, everyMs: 300 },
    )
  } catch {
    return unsettled
  }
  const jobs = (await cluster.http(0).json('GET', '/v1/jobs')) as readonly {
    ID: string
    JobModifyIndex: number
  }[]
  const indexOf = new Map(jobs.map(({ ID, JobModifyIndex }) => [ID, JobModifyIndex]))
  return acknowledged.flatMap(({ id, index }) => {
    const found = indexOf.get(id) ?? 0
    const isThere = id.startsWith('once-') ? found === index : found >= index
    return isThere ? [] : [`${id} was acknowledged at ${index}, and is at ${found}`]
  })
}

async function notYet(
  cluster: Cluster,
  watch: TaskWatch,
  wanted: readonly Wanted[],
): Promise<readonly string[]> {
  const rows = (await cluster.http(0).json('GET', '/v1/allocations')) as readonly Allocation[]
  const live = rows.filter(({ DesiredStatus, ClientStatus }) => {
    return DesiredStatus === 'run' && ClientStatus === 'running'
  })
  const alive = watch.alive()
  const open: string[] = []
  for (const { id, count, version } of wanted) {
    const own = live.filter(({ JobID }) => JobID === id)
    if (own.length !== count) open.push(`${id} is to run ${count} times, and does ${own.length}`)
    const reply = await cluster.http(0).request('GET', `/v1/job/${id}`)
    if (reply.status === 404 && count === 0) continue
    const job = JSON.parse(reply.body.toString()) as { Status: string; Meta: { version?: string } }
    if (count === 0 && job.Status !== 'dead') open.push(`${id} is ${job.Status}, not dead`)
    if (count > 0 && job.Meta.version !== version) {
      open.push(`${id} is of version ${job.Meta.version}, not ${version}`)
    }
    const versions = alive.filter(({ name }) => name.startsWith(`${id}.`))
    const old = versions.filter((one) => one.version !== version)
    if (count > 0 && old.length > 0) open.push(`${id} runs an older version: ${old[0]?.version}`)
  }
  const ids = new Set(live.map(({ ID }) => ID))
  const pids = new Set(alive.map(({ allocation }) => allocation))
  if (pids.size !== alive.length) open.push('an allocation has two processes')
  for (const id of pids) if (!ids.has(id)) open.push(`a process of ${id} runs, which is not live`)
  for (const id of ids) if (!pids.has(id)) open.push(`${id} is live, and has no process`)
  return open
}
