/**
 * Clients that write, compare-and-set, delete and read through any server, and note what they saw.
 * Whatever may or may not have taken effect is noted as unknown; only what was surely refused is tried elsewhere.
 */
import type { Random } from '../../src/lib/random.ts'
import type { ServerId } from '../../src/raft/core/message.ts'
import type { Applied } from '../../src/raft/waiters.ts'
import { between, happens, integer, pick, streamOf, weighted } from './randomness.ts'
import { describe, type Action, type Operation, type WriteOutcome } from './checkers/register.ts'
import { encodeCommand, type Command, type Outcome, type Row } from './commands.ts'
import { forward } from './forwarding.ts'
import { digestOf } from './observed-log.ts'
import type { SimServer } from './server.ts'
import type { Reply, World } from './world.ts'

/** Servers that one operation is tried at. */
const attemptsMax = 6

export class Clients {
  readonly #world: World
  readonly history: Operation[] = []
  #stopped = false
  #active = 0

  constructor(world: World) {
    this.#world = world
  }

  begin(): void {
    for (let number = 1; number <= this.#world.plan.clients; number += 1) {
      const client = new Client(this.#world, `c${number}`, this.history)
      this.#active += 1
      void client
        .run(() => this.#stopped)
        .then(() => {
          this.#active -= 1
        })
    }
  }

  stop(): void {
    this.#stopped = true
  }

  get idle(): boolean {
    return this.#active === 0
  }
}

export class Client {
  readonly #world: World
  readonly #name: string
  readonly #history: Operation[]
  readonly #random: Random
  #values = 0
  /** The newest index seen of each key, for compare-and-set. */
  readonly #seen = new Map<string, number>()
  #leader: ServerId | null = null

  constructor(world: World, name: string, history: Operation[]) {
    this.#world = world
    this.#name = name
    this.#history = history
    this.#random = streamOf(world.plan.seed, `client ${name}`)
  }

  async run(stopped: () => boolean): Promise<void> {
    const { scheduler, plan } = this.#world
    while (!stopped()) {
      await scheduler.sleep(between(this.#random, 0, plan.thinkMs * 2))
      await this.operate()
    }
  }

  async operate(): Promise<Operation> {
    const { scheduler, plan } = this.#world
    const key = `k${integer(this.#random, 1, plan.keys)}`
    const callMs = scheduler.nowMs
    const action = await this.#act(key)
    const operation = { ...action, client: this.#name, key, callMs, returnMs: scheduler.nowMs }
    this.#history.push(operation)
    this.#world.trace.add(() => `${key} ${describe(operation)}`)
    this.#world.count(`${action.type} ${action.outcome.type}`)
    return operation
  }

  #act(key: string): Promise<Action> {
    if (this.#world.quiet) return this.read(key)
    switch (weighted(this.#random, { read: 4, put: 4, cas: 1.5, delete: 0.5 })) {
      case 'read':
        return this.read(key)
      case 'put':
        return this.put(key)
      case 'cas':
        return this.#cas(key)
      case 'delete':
        return this.#delete(key)
    }
  }

  async put(key: string): Promise<Action> {
    const value = this.#newValue()
    const padding = '.'.repeat(integer(this.#random, 0, this.#world.plan.paddingBytes))
    const { outcome } = await this.#write({ type: 'put', key, value, padding })
    return { type: 'put', value, outcome }
  }

  async #cas(key: string): Promise<Action> {
    const value = this.#newValue()
    const expectedIndex = happens(this.#random, 0.15) ? 0 : (this.#seen.get(key) ?? 0)
    const { outcome, answer } = await this.#write({ type: 'cas', key, value, expectedIndex })
    if (answer?.type === 'refused') {
      const found = this.#note(key, answer.found)
      return { type: 'cas', expectedIndex, value, outcome: { type: 'refused', found } }
    }
    return { type: 'cas', expectedIndex, value, outcome }
  }

  async #delete(key: string): Promise<Action> {
    const { outcome } = await this.#write({ type: 'delete', key })
    if (outcome.type === 'ok') return { type: 'delete', outcome: { type: 'ok' } }
    return { type: 'delete', outcome }
  }

  async #write(command: Command): Promise<{ outcome: WriteOutcome; answer: Outcome | null }> {
    const world = this.#world
    for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
      const server = this.#choose()
      if (server === null) break
      const reply = await this.#send(server, command)
      if (reply.type === 'lost') return { outcome: { type: 'unknown' }, answer: null }
      if (reply.type === 'ok') {
        this.#leader = server.id
        const { index, outcome } = reply.value
        const answer = outcome as Outcome
        if (answer.type === 'done') this.#seen.set(command.key, index)
        return { outcome: { type: 'ok', index }, answer }
      }
      if (reply.code === 'outcome_unknown') return { outcome: { type: 'unknown' }, answer: null }
      if (!['not_leader', 'overloaded', 'unavailable'].includes(reply.code)) {
        world.report({ rule: 'a proposal fails as promised', text: `with ${reply.code}` })
      }
      this.#leader = server.status?.leaderId ?? null
      await world.scheduler.sleep(between(this.#random, 1, world.plan.timing.electionMs / 4))
    }
    return { outcome: { type: 'failed' }, answer: null }
  }

  /** Where it is, by the ways that servers have: through one that follows, and outlasting the leadership of one that leads. */
  #send(server: SimServer, command: Command): Promise<Reply<Applied>> {
    const world = this.#world
    const { patienceMs } = world.plan
    const follows = server.status?.role !== 'leader'
    if (follows && happens(this.#random, 0.8)) return forward(world, server, command)
    const options = happens(this.#random, 0.5) ? { lingerMs: patienceMs / 2 } : {}
    const data = encodeCommand(command)
    return world.request(server, patienceMs, async ({ running }) => {
      if (running === null) throw new Error('a request reaches running servers only')
      const applied = await running.node.propose(data, options)
      world.judges.writes.acknowledged(applied.index, digestOf({ kind: 'command', data }))
      return applied
    })
  }

  async read(key: string): Promise<Action> {
    const world = this.#world
    const server = this.#suspect() ?? this.#choose()
    if (server === null) return { type: 'read', outcome: { type: 'failed' } }
    // Reads that may be a little old take the same ways through the node; nothing is concluded from them.
    const mode = happens(this.#random, 0.1) ? 'leader' : 'linearizable'
    const reply = await world.request(server, world.plan.patienceMs, async ({ running }) => {
      if (running === null) throw new Error('a request reaches running servers only')
      const deadlineMs = world.scheduler.clockOf(running.life).monotonicMs() + 600
      await running.node.readBarrier(mode, deadlineMs)
      return running.machine.row(key)
    })
    if (reply.type !== 'ok' || mode === 'leader')
      return { type: 'read', outcome: { type: 'failed' } }
    return { type: 'read', outcome: { type: 'ok', seen: this.#note(key, reply.value) } }
  }

  #note(key: string, row: Row | null) {
    this.#seen.set(key, row?.index ?? 0)
    return { value: row?.value ?? null, index: row?.index ?? null }
  }

  #suspect(): SimServer | null {
    const { suspect, servers } = this.#world
    if (suspect === null || !happens(this.#random, 0.4)) return null
    return servers.get(suspect) ?? null
  }

  /** Mostly the leader, as far as this client knows; else anybody. Rather not who is suspected to lead no more. */
  #choose(): SimServer | null {
    const { servers, suspect } = this.#world
    const others = [...servers.values()].filter(({ id }) => id !== suspect)
    if (suspect !== null && this.#leader === suspect && others.length > 0) {
      return pick(this.#random, others)
    }
    const known = this.#leader === null ? undefined : servers.get(this.#leader)
    if (known !== undefined && happens(this.#random, this.#world.quiet ? 0.95 : 0.7)) return known
    return servers.size === 0 ? null : pick(this.#random, [...servers.values()])
  }

  #newValue(): string {
    this.#values += 1
    return `${this.#name}-${this.#values}`
  }
}
