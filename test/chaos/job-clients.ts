/**
 * Clients that register, change, stop and purge jobs while the cluster is being broken, and what was acknowledged to them. Each job has
 * one client, which asks one thing after the other: so what has to be in the end is known.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { randomInteger, type Random } from '../../src/lib/random.ts'
import type { Cluster } from '../support/cluster.ts'
import { eventually } from '../support/eventually.ts'
import type { TaskWatch } from '../support/task-watch.ts'

export type Wanted = {
  readonly id: string
  /** What is to run; 0: it is stopped or purged. */
  readonly count: number
  readonly version: string
}

type Job = {
  readonly id: string
  version: number
  /** As it was last acknowledged, where nothing unsure came after it. */
  wanted: Wanted | null
  /** Of its registrations, the highest that was acknowledged since it was purged last. */
  indexMin: number
}

/** Registered once, and never touched again. */
export type Once = { readonly id: string; readonly index: number }

export const jobsCount = 6
export const countMax = 2
export const taskCpu = 100
const clientsCount = 3
const requestTimeoutMs = 5_000
const thinkMs = { min: 300, max: 1_500 } as const
const second = 1_000_000_000

export class JobClients {
  readonly once: Once[] = []
  readonly outcomes: Record<string, number> = {}
  readonly #cluster: Cluster
  readonly #random: Random
  readonly #watch: TaskWatch
  readonly #jobs: readonly Job[]
  #running: Promise<void>[] = []
  #isStopping = false
  #made = 0

  constructor(cluster: Cluster, random: Random, watch: TaskWatch) {
    this.#cluster = cluster
    this.#random = random
    this.#watch = watch
    this.#jobs = Array.from({ length: jobsCount }, (_, at) => {
      const id = `w${at}`
      return { id, version: 0, wanted: { id, count: 0, version: '' }, indexMin: 0 }
    })
  }

  start(): void {
    this.#isStopping = false
    this.#running = Array.from({ length: clientsCount }, (_, at) => this.#client(at))
  }

  /** Resolves when all have their last answer. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running)
  }

  /** With the cluster whole and the clients stopped: what was unsure is asked again until it is acknowledged. */
  async settled(): Promise<readonly Wanted[]> {
    const wanted: Wanted[] = []
    for (const job of this.#jobs) {
      wanted.push(
        await eventually(`${job.id} is registered`, async () => {
          if (job.wanted === null) await this.#register(job, 1)
          return job.wanted ?? undefined
        }),
      )
    }
    return wanted
  }

  /** Ids and the least index that each must have. */
  acknowledged(): readonly Once[] {
    const jobs = this.#jobs.flatMap(({ id, indexMin }) =>
      indexMin === 0 ? [] : [{ id, index: indexMin }],
    )
    return [...this.once, ...jobs]
  }

  async #client(at: number): Promise<void> {
    while (!this.#isStopping) {
      const own = this.#jobs.filter((_, of) => of % clientsCount === at)
      const job = own[randomInteger(this.#random, 0, own.length)]
      const drawn = this.#random.next()
      if (job !== undefined) {
        if (drawn < 0.6) await this.#register(job, randomInteger(this.#random, 1, countMax + 1))
        else if (drawn < 0.8) await this.#stop(job, drawn < 0.67)
        else await this.#registerOnce()
      }
      await delay(randomInteger(this.#random, thinkMs.min, thinkMs.max))
    }
  }

  async #register(job: Job, count: number): Promise<void> {
    // Now and then only the count is another one.
    if (job.wanted?.count === 0 || this.#random.next() < 0.7) job.version += 1
    const version = String(job.version)
    const answer = await this.#ask('register', 'PUT', '/v1/jobs', {
      Job: this.#jobOf(job.id, count, version),
    })
    job.wanted = answer === null ? null : { id: job.id, count, version }
    job.indexMin = Math.max(job.indexMin, answer?.JobModifyIndex ?? 0)
  }

  async #stop(job: Job, purge: boolean): Promise<void> {
    if (job.wanted === null || job.wanted.count === 0) return
    const path = `/v1/job/${job.id}?purge=${purge}`
    const answer = await this.#ask(purge ? 'purge' : 'stop', 'DELETE', path)
    // It may be gone, or go.
    if (purge) job.indexMin = 0
    job.wanted = answer === null ? null : { ...job.wanted, count: 0 }
  }

  async #registerOnce(): Promise<void> {
    this.#made += 1
    const id = `once-${this.#made}`
    const body = { Job: this.#jobOf(id, 0, '0'), EnforceIndex: true, JobModifyIndex: 0 }
    const answer = await this.#ask('once', 'PUT', '/v1/jobs', body)
    if (answer !== null) this.once.push({ id, index: answer.JobModifyIndex })
  }

  /** Null: it may have been done or not. */
  async #ask(
    what: string,
    method: string,
    path: string,
    body?: object,
  ): Promise<{ readonly JobModifyIndex: number } | null> {
    const at = randomInteger(this.#random, 0, this.#cluster.size)
    const options = {
      timeoutMs: requestTimeoutMs,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }
    const reply = await this.#cluster
      .http(at)
      .request(method, path, options)
      .catch(() => null)
    const outcome = reply === null ? 'lost' : String(reply.status)
    this.outcomes[`${what} ${outcome}`] = (this.outcomes[`${what} ${outcome}`] ?? 0) + 1
    if (reply?.status !== 200) return null
    return JSON.parse(reply.body.toString()) as { JobModifyIndex: number }
  }

  #jobOf(id: string, count: number, version: string) {
    const task = this.#watch.task({ version, killSeconds: 1, stubborn: version.endsWith('3') })
    const group = {
      Name: 'g',
      Count: count,
      EphemeralDisk: { SizeMB: 10 },
      // Nothing here is to be given up for what the faults did to it.
      RestartPolicy: { Attempts: 1_000, Interval: 3_600 * second, Delay: second, Mode: 'delay' },
      ReschedulePolicy: {
        Unlimited: true,
        Delay: 5 * second,
        MaxDelay: 5 * second,
        DelayFunction: 'constant',
      },
      Migrate: { MaxParallel: 1, MinHealthyTime: second / 5, HealthyDeadline: 300 * second },
      Update: {
        MaxParallel: 1,
        MinHealthyTime: second / 5,
        HealthyDeadline: 600 * second,
        ProgressDeadline: 1_200 * second,
      },
      Tasks: [{ ...task, Resources: { CPU: taskCpu, MemoryMB: 16 } }],
    }
    return { ID: id, Datacenters: ['dc1'], Meta: { version }, TaskGroups: [group] }
  }
}
