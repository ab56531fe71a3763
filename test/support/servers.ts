/**
 * Servers under test as their clients see them, counted from 0: real processes (`cluster.ts`), or servers in the test's own process
 * (`server-of-three.ts`).
 */
import { eventually } from './eventually.ts'
import type { HttpClient } from './http-client.ts'
import type { ServerPorts } from './server-process.ts'
import { Variables } from './variables.ts'

export type ServerSeen = {
  readonly spec: { readonly name: string; readonly ports: ServerPorts }
  readonly running: boolean
}

/** Several elections at the longest timeout a test sets, on a machine that is busy with others. */
const leaderTimeoutMs = 60_000

export abstract class Servers {
  abstract readonly servers: readonly ServerSeen[]

  abstract server(at: number): ServerSeen

  abstract http(at: number): HttpClient

  get size(): number {
    return this.servers.length
  }

  /** Server numbers, for loops. */
  get all(): readonly number[] {
    return this.servers.map((_, at) => at)
  }

  variables(at: number, timeoutMs?: number): Variables {
    return new Variables(this.http(at), timeoutMs)
  }

  /** The server that most servers call their leader, or null. Ask when no partition divides opinions. */
  async leader(): Promise<number | null> {
    const named = await Promise.all(this.all.map((at) => this.leaderAsSeenBy(at)))
    const found = this.all.find((at) => named.filter((name) => name === at).length * 2 > this.size)
    return found ?? null
  }

  /** The leader that server `at` follows or is; null if it knows none or does not answer. */
  async leaderAsSeenBy(at: number): Promise<number | null> {
    if (!this.server(at).running) return null
    const address = await this.http(at)
      .json('GET', '/v1/status/leader?stale', { timeoutMs: 1_000 })
      .catch(() => null)
    const found = this.servers.findIndex(({ spec }) => address === `127.0.0.1:${spec.ports.rpc}`)
    return found < 0 ? null : found
  }

  /** Waits until all running servers agree on a leader, which is not `except`. */
  async waitForLeader(options: { except?: number; timeoutMs?: number } = {}): Promise<number> {
    const { except, timeoutMs = leaderTimeoutMs } = options
    return eventually(
      'all running servers agree on a leader',
      async () => {
        const running = this.all.filter((at) => this.server(at).running && at !== except)
        const named = await Promise.all(running.map((at) => this.leaderAsSeenBy(at)))
        const [first] = named
        if (first === null || first === undefined || first === except) return undefined
        return named.every((name) => name === first) ? first : undefined
      },
      { timeoutMs, everyMs: 50 },
    )
  }

  /** A server that is not the leader. */
  async follower(): Promise<number> {
    const leader = await this.waitForLeader()
    return (leader + 1) % this.size
  }

  /** Resolves once every server takes writes and reads back what is encrypted. Leaves one variable per server under `ready/`. */
  async waitUntilReady(): Promise<void> {
    for (const at of this.all) {
      await eventually(`server ${at} takes writes`, async () => {
        const outcome = await this.variables(at).put(`ready/${at}`, 'yes')
        return outcome.type === 'ok' ? true : undefined
      })
    }
    for (const at of this.all) {
      await eventually(`server ${at} shares the keys`, async () => {
        const outcome = await this.variables(at).read('ready/0')
        return outcome.type === 'ok' && outcome.seen.value === 'yes' ? true : undefined
      })
    }
  }
}
