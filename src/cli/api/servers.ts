/**
 * Several servers of one cluster, asked one after another: what one cannot answer the next may. A server that does not answer one
 * request will not answer the others either: a read that waits there for a change is asked of the next one with it.
 */
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { ApiRefusal, type Answer, type ApiClient, type Ask } from './client.ts'

/** Between attempts; doubled after each that failed. */
const pauseMsMin = 50
const pauseMsMax = 1_000
const reachMsMax = 5_000
/** Answers of a server that another one, or the same later, may give better. */
const passing: readonly number[] = [429, 500, 502, 503, 504]

/** `sentMs`: before the attempt that was answered began, by the clock handed in. */
export type Sent = Answer & { readonly sentMs: number }

export class Servers {
  readonly #clients: readonly ApiClient[]
  readonly #clock: Clock
  /** The one that answered last. */
  #at = 0
  /** Reads under way, by the server that they were sent to. */
  readonly #reads = new Map<AbortController, number>()

  constructor(clients: readonly ApiClient[], clock: Clock) {
    if (clients.length === 0) throw new MusterError('internal', 'there is no server to ask')
    this.#clients = clients
    this.#clock = clock
  }

  /** Throws `unavailable` when none of them answers at all: a caller about to wait long wants to know that first. */
  async assertReachable(): Promise<void> {
    for (let left = this.#clients.length; left > 0; left -= 1) {
      try {
        await this.attempt('GET', '/v1/status/leader', {
          search: { stale: '' },
          timeoutMs: reachMsMax,
        })
        return
      } catch (error) {
        if (error instanceof ApiRefusal) return
        if (left === 1) throw error
      }
    }
  }

  /**
   * Asks one server, once. What failed there is asked of the next one the next time; a read already now, if it was another
   * request that failed.
   */
  async attempt(method: string, path: string, ask: Ask): Promise<Sent> {
    for (;;) {
      const at = this.#at
      const moved = new AbortController()
      if (method === 'GET') this.#reads.set(moved, at)
      const signal =
        ask.signal === undefined ? moved.signal : AbortSignal.any([moved.signal, ask.signal])
      const sentMs = this.#clock.monotonicMs()
      try {
        return { ...(await this.#clientAt(at).ask(method, path, { ...ask, signal })), sentMs }
      } catch (error) {
        const isCancelled = ask.signal?.aborted === true
        if (moved.signal.aborted && !isCancelled) continue
        if (mayPass(error) && !isCancelled && this.#at === at) this.#leave(at, error)
        throw error
      } finally {
        this.#reads.delete(moved)
      }
    }
  }

  #clientAt(at: number): ApiClient {
    const client = this.#clients[at]
    if (client === undefined) throw new MusterError('internal', `there is no server ${at}`)
    return client
  }

  #leave(at: number, error: unknown): void {
    this.#at = (at + 1) % this.#clients.length
    // A server that refuses for now still answers what waits there.
    if (error instanceof ApiRefusal || this.#at === at) return
    for (const [moved, sentTo] of this.#reads) if (sentTo === at) moved.abort()
  }

  /**
   * Asks until a server answers, also a second time what may have happened already: for requests that do no more then.
   * Throws what no server would answer otherwise, and the last failure once the signal fires.
   */
  async ask(
    method: string,
    path: string,
    ask: Ask & { readonly signal: AbortSignal },
  ): Promise<Sent> {
    let pauseMs = pauseMsMin
    for (;;) {
      try {
        return await this.attempt(method, path, ask)
      } catch (error) {
        if (ask.signal.aborted || !mayPass(error)) throw error
        await delay(this.#clock, pauseMs, ask.signal)
        if (ask.signal.aborted) throw error
        pauseMs = Math.min(pauseMs * 2, pauseMsMax)
      }
    }
  }
}

/** No server answered, or only for now: another try may succeed. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ApiRefusal) return passing.includes(error.status)
  return error instanceof MusterError && error.code === 'unavailable'
}
