/**
 * Simulated client agents: each registers a node over an uplink of its own, sends its heartbeats, and, where it is to work, says of
 * each allocation that it gets that it runs, and of each that is stopped that it ended.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { feed, read, report } from '../../src/domains/allocations/agent-contracts.ts'
import { assignedMax } from '../../src/domains/allocations/feed-model.ts'
import type { ClientReport } from '../../src/domains/allocations/model.ts'
import type { NodeSpec } from '../../src/domains/nodes/model.ts'
import { onAbort } from '../../src/lib/async.ts'
import { codeOf } from '../../src/lib/errors.ts'
import { openAgent, type FakeAgent } from '../../test/domains/nodes/agent.ts'
import { specOf } from '../../test/domains/nodes/spec.ts'

/** Agents that register at once. */
const atOnce = 64
const againMs = 500
const feedMs = 30_000
const callMs = 60_000

export type AgentsOptions = {
  /** API ports of servers, which they take in turn. */
  readonly ports: readonly number[]
  readonly spec?: Partial<NodeSpec>
  readonly works?: boolean
}

type Node = { readonly nodeId: string; readonly name: string }
type Ask = FakeAgent['ask']

export class SimulatedAgents {
  readonly #options: AgentsOptions
  readonly #stop = new AbortController()
  /** Calls that failed, by their method and code, and uplinks that were lost. */
  readonly failures = new Map<string, number>()

  constructor(options: AgentsOptions) {
    this.#options = options
  }

  /** Resolves once all are registered. */
  async start(count: number): Promise<void> {
    let next = 0
    const some = async (): Promise<void> => {
      while (next < count) await this.#begin((next += 1))
    }
    await Promise.all(Array.from({ length: atOnce }, some))
  }

  stop(): void {
    this.#stop.abort()
  }

  /** Resolves once the agent is registered. It opens another uplink where one is lost. */
  async #begin(number: number): Promise<void> {
    const node = { nodeId: randomUUID(), name: `agent-${number}` }
    void this.#reopen(node, number, await this.#open(node, number))
  }

  async #reopen(node: Node, number: number, first: FakeAgent): Promise<void> {
    let agent: FakeAgent | null = first
    for (let server = number + 1; ; server += 1) {
      await agent?.closed
      if (this.#stop.signal.aborted) return
      this.#count('uplink: closed')
      await delay(againMs)
      agent = await this.#open(node, server).catch(() => null)
    }
  }

  async #open(node: Node, server: number): Promise<FakeAgent> {
    const { ports, spec = {}, works = false } = this.#options
    const over = new AbortController()
    const owner = { teardown: (close: () => void) => onAbort(this.#stop.signal, close) }
    const agent = await openAgent(owner, ports[server % ports.length] ?? 0, {
      ...node,
      spec,
      callMs,
    })
    void agent.closed.then(() => over.abort())
    const ask: Ask = (method, args) => agent.ask(method, args)
    for (;;) {
      try {
        await ask('nodes.register', { spec: specOf(node.name, spec) })
        break
      } catch (error) {
        // The leader takes in so many new nodes a second, and no more.
        if (codeOf(error) !== 'overloaded') throw error
        await delay(againMs)
      }
    }
    const signal = AbortSignal.any([this.#stop.signal, over.signal])
    void this.#repeat(signal, 'nodes.heartbeat', async () => {
      const { ttlMs } = (await ask('nodes.heartbeat', {})) as { readonly ttlMs: number }
      await delay(ttlMs / 2, undefined, { signal })
    })
    if (works) void this.#work(ask, signal)
    return agent
  }

  /** Every state of the feed is reported. */
  async #work(ask: Ask, signal: AbortSignal): Promise<void> {
    const told = new Map<string, string>()
    let known = { index: 0, tag: '' }
    await this.#repeat(signal, feed.name, async () => {
      const fed = feed.checked(await ask(feed.name, { ...known, waitMs: feedMs }))
      known = { index: fed.index, tag: fed.tag }
      const ids = fed.allocations.map(([id]) => id)
      for (let from = 0; from < ids.length; from += assignedMax) {
        await this.#report(ask, ids.slice(from, from + assignedMax), told)
      }
    })
  }

  async #report(ask: Ask, ids: readonly string[], told: Map<string, string>): Promise<void> {
    const { allocations } = read.checked(await ask(read.name, { ids }))
    const reports = allocations.flatMap(({ id, desiredStatus }): readonly ClientReport[] => {
      const clientStatus = desiredStatus === 'run' ? 'running' : 'complete'
      if (told.get(id) === clientStatus) return []
      told.set(id, clientStatus)
      return [{ id, clientStatus, clientDescription: '', tasks: [], health: null }]
    })
    if (reports.length > 0) await ask(report.name, { reports })
  }

  /** Until the signal. What fails is counted, and done again. */
  async #repeat(signal: AbortSignal, name: string, round: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await round()
      } catch (error) {
        if (signal.aborted) return
        this.#count(`${name}: ${codeOf(error)}`)
        await delay(againMs)
      }
    }
  }

  #count(failure: string): void {
    this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1)
  }
}
