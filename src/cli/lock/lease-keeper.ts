/** A session and its renewals, over whichever server answers. How long it can be counted on is `lease.ts`'s to say. */
import { parseDurationMs } from '../../lib/duration.ts'
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { textOf as reasonOf } from '../../lib/errors.ts'
import { listOf, objectOf, textOf } from '../api/answer.ts'
import type { Json } from '../../lib/exact-json.ts'
import { renewed, type Lease } from './lease.ts'
import type { Servers } from '../api/servers.ts'

const attemptMsMax = 5_000
/** After a renewal that failed, the next server is tried. */
const pauseMs = 100

export type SessionOptions = {
  readonly servers: Servers
  readonly namespace: string | null
  readonly clock: Clock
  readonly lease: Lease
  readonly name: string
  /** What becomes of the keys it holds when it ends. */
  readonly behavior: 'release' | 'delete'
}

/** When what runs under the session must be told to end, and when it must be dead; by the clock handed in. */
export type Until = { readonly termAtMs: number; readonly killAtMs: number }

export class LeaseKeeper {
  readonly session: string
  readonly #options: SessionOptions
  readonly #stopping = new AbortController()
  readonly #over = new AbortController()
  #lease: Lease
  #sentMs: number
  #running: Promise<void> = Promise.resolve()
  #lastFailure: string | null = null
  #onRenewed: () => void = () => {}

  private constructor(options: SessionOptions, session: string, sentMs: number) {
    this.#options = options
    this.#lease = options.lease
    this.session = session
    this.#sentMs = sentMs
  }

  /** Creates a session and begins to renew it. The owner calls `stop`. Throws once the signal fires. */
  static async start(options: SessionOptions, signal: AbortSignal): Promise<LeaseKeeper> {
    const { servers, namespace, lease, name, behavior } = options
    // One whose answer was lost ends by itself; it holds nothing.
    const { json, sentMs } = await servers.ask('PUT', '/v1/session/create', {
      search: { namespace },
      // Bound to no check: that the server asked has failed is no reason to lose a lock.
      json: {
        Name: name,
        TTL: durationText(lease.ttlMs),
        LockDelay: durationText(lease.lockDelayMs),
        Behavior: behavior,
        NodeChecks: [],
      },
      timeoutMs: attemptMsMax,
      signal,
    })
    const keeper = new LeaseKeeper(options, textOf(objectOf(json), 'ID'), sentMs)
    keeper.#running = keeper.#run()
    return keeper
  }

  /** From the moment the last acknowledged renewal was sent. */
  get until(): Until {
    const { termAfterMs, killAfterMs } = this.#lease
    return { termAtMs: this.#sentMs + termAfterMs, killAtMs: this.#sentMs + killAfterMs }
  }

  /** Fires when a server says that there is no such session any more. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** Why the last renewal failed; null when it did not. */
  get lastFailure(): string | null {
    return this.#lastFailure
  }

  /** Called whenever `until` has moved. */
  onRenewed(run: () => void): void {
    this.#onRenewed = run
  }

  /** Whether the session lives; null: no server says so in time. */
  async isAlive(signal: AbortSignal): Promise<boolean | null> {
    const { servers, namespace } = this.#options
    try {
      const { json } = await servers.attempt('GET', `/v1/session/info/${this.session}`, {
        search: { namespace },
        timeoutMs: attemptMsMax,
        signal,
      })
      return listOf(json).length > 0
    } catch {
      return null
    }
  }

  /** Ends the renewals, and the session itself unless `signal` fires before a server has done it. */
  async stop(signal: AbortSignal): Promise<void> {
    this.#stopping.abort()
    await this.#running
    if (this.#over.signal.aborted) return
    const { servers, namespace } = this.#options
    await servers.ask('PUT', `/v1/session/destroy/${this.session}`, {
      search: { namespace },
      timeoutMs: attemptMsMax,
      signal,
    })
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stopping
    for (;;) {
      const dueMs = this.#sentMs + this.#lease.renewAfterMs - clock.monotonicMs()
      const waitMs = this.#lastFailure === null ? Math.max(0, dueMs) : pauseMs
      await delay(clock, waitMs, signal)
      if (signal.aborted) return
      try {
        if (!(await this.#renew(signal))) {
          this.#over.abort()
          return
        }
        this.#lastFailure = null
        this.#onRenewed()
      } catch (error) {
        this.#lastFailure = reasonOf(error)
      }
    }
  }

  async #renew(signal: AbortSignal): Promise<boolean> {
    const { servers, namespace, lease } = this.#options
    const { status, json, sentMs } = await servers.attempt(
      'PUT',
      `/v1/session/renew/${this.session}`,
      { search: { namespace }, timeoutMs: this.#lease.attemptMsMax, also: [404], signal },
    )
    if (status === 404) return false
    this.#lease = renewed(lease, ttlOf(json))
    this.#sentMs = sentMs
    return true
  }
}

function ttlOf(json: Json): number {
  const [session] = listOf(json)
  return parseDurationMs(textOf(objectOf(session), 'TTL')) ?? 0
}

function durationText(ms: number): string {
  return `${ms}ms`
}
