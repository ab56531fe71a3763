/** Several servers of one cluster, asked one after another: what one cannot answer the next may. */
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

  /** Asks one server, once. What failed there is asked of the next one the next time. */
  async attempt(method: string, path: string, ask: Ask): Promise<Sent> {
    const at = this.#at
    const client = this.#clients[at]
    if (client === undefined) throw new MusterError('internal', `there is no server ${at}`)
    const sentMs = this.#clock.monotonicMs()
    try {
      return { ...(await client.ask(method, path, ask)), sentMs }
    } catch (error) {
      if (mayPass(error) && this.#at === at) this.#at = (at + 1) % this.#clients.length
      throw error
    }
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
