/**
 * What clients do while the cluster is being broken, and what they saw of it. Shared by the long run
 * (`scripts/chaos.ts`) and the short one among the tests.
 *
 * Clients work on a handful of registers, which a judge of histories looks at, and now and then each creates a
 * variable of its own, which must still be there at the end exactly as it was acknowledged.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { randomInteger, type Random } from '../../src/lib/random.ts'
import type { Action, Operation } from '../sim/checkers/register.ts'
import type { Cluster } from '../support/cluster.ts'
import type { Variables } from '../support/variables.ts'

export type Created = { readonly path: string; readonly value: string; readonly index: number }

export type Recorded = {
  readonly history: Operation[]
  /** Acknowledged creations. */
  readonly created: Created[]
}

/** Bounds on the history of one key: the registers change to new names after this time. */
const epochMs = 20_000
const registers = 5
const clientsPerServer = 3
const requestTimeoutMs = 3_000
const thinkMsMax = 15
/** After a failure, so that a dead server does not fill the history. */
const backoffMs = 50

export const workloadPrefix = 'chaos/'

export class Workload {
  readonly #cluster: Cluster
  readonly #random: Random
  readonly recorded: Recorded = { history: [], created: [] }
  readonly #startMs = performance.now()
  readonly #clients: Promise<void>[]
  /** Index last seen in each register, by any client: what a cas expects. */
  readonly #lastIndex = new Map<string, number>()
  #stopping = false
  #writes = 0
  #failure: unknown = null

  constructor(cluster: Cluster, random: Random) {
    this.#cluster = cluster
    this.#random = random
    this.#clients = cluster.all.flatMap((at) =>
      Array.from({ length: clientsPerServer }, (_, n) =>
        this.#client(at, `c${at + 1}-${n + 1}`).catch((error: unknown) => {
          this.#failure ??= error
        }),
      ),
    )
  }

  /** Operations finished or given up so far. */
  get operations(): number {
    return this.recorded.history.length + this.recorded.created.length
  }

  get epoch(): number {
    return Math.floor((performance.now() - this.#startMs) / epochMs)
  }

  /** Every register that was ever in use. */
  keys(): string[] {
    return [...new Set(this.recorded.history.map(({ key }) => key))]
  }

  /** Rejects with what a server answered that none ever should. */
  async stop(): Promise<void> {
    this.#stopping = true
    await Promise.all(this.#clients)
    if (this.#failure !== null) throw this.#failure
  }

  /** With the cluster whole again, what each register holds at last, as every server sees it. */
  async finalReads(): Promise<void> {
    for (const at of this.#cluster.all) {
      const variables = this.#cluster.variables(at, requestTimeoutMs)
      for (const key of this.keys()) await this.#read(variables, key, `final${at + 1}`)
    }
  }

  async #client(at: number, name: string): Promise<void> {
    const variables = this.#cluster.variables(at, requestTimeoutMs)
    for (let turn = 0; !this.#stopping; turn += 1) {
      const key = `${workloadPrefix}e${this.epoch}/r${randomInteger(this.#random, 0, registers)}`
      const drawn = this.#random.next()
      const good =
        drawn < 0.4
          ? await this.#read(variables, key, name)
          : drawn < 0.9
            ? await this.#write(variables, key, name)
            : await this.#create(variables, `${workloadPrefix}own/${name}/${turn}`)
      await delay(good ? this.#random.next() * thinkMsMax : backoffMs)
    }
  }

  async #read(variables: Variables, key: string, client: string): Promise<boolean> {
    const callMs = performance.now()
    const outcome = await variables.read(key)
    if (outcome.type === 'ok') this.#lastIndex.set(key, outcome.seen.index ?? 0)
    return this.#record({ type: 'read', outcome }, key, client, callMs)
  }

  async #write(variables: Variables, key: string, client: string): Promise<boolean> {
    const callMs = performance.now()
    const kind = this.#random.next()
    if (kind < 0.12) {
      const outcome = await variables.delete(key)
      return this.#record({ type: 'delete', outcome }, key, client, callMs)
    }
    this.#writes += 1
    const value = `v${this.#writes}`
    if (kind < 0.6) {
      const outcome = await variables.put(key, value)
      return this.#record({ type: 'put', value, outcome }, key, client, callMs)
    }
    const expectedIndex = this.#lastIndex.get(key) ?? 0
    const outcome = await variables.cas(key, expectedIndex, value)
    if (outcome.type === 'refused') this.#lastIndex.set(key, outcome.found.index ?? 0)
    return this.#record({ type: 'cas', expectedIndex, value, outcome }, key, client, callMs)
  }

  async #create(variables: Variables, path: string): Promise<boolean> {
    const value = `of ${path}`
    const outcome = await variables.cas(path, 0, value)
    if (outcome.type !== 'ok' || outcome.index === null) return false
    this.recorded.created.push({ path, value, index: outcome.index })
    return true
  }

  #record(action: Action, key: string, client: string, callMs: number): boolean {
    const { outcome } = action
    this.recorded.history.push({ ...action, key, client, callMs, returnMs: performance.now() })
    return outcome.type === 'ok' || outcome.type === 'refused'
  }
}
