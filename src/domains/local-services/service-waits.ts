/** Who waits for one of this agent's services to be shown otherwise: woken by every change of them, and bounded. */
import { firstOf, nothing } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { Places, type PlaceTaker } from '../../rpc/places.ts'

export const serviceWaitsMax = 1_024

export class ServiceWaits {
  readonly #clock: Clock
  readonly #places = new Places({
    max: serviceWaitsMax,
    limit: 'the maximum of requests that wait for a service of one agent',
  })
  readonly #waiting = new Set<() => void>()
  #stopped = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Services may have changed. */
  wake(): void {
    for (const look of this.#waiting) look()
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#stopped = true
    this.wake()
  }

  /**
   * Until `isChanged`, which is asked at once and on every change, or the time is up, or the caller has gone. Throws `overloaded` and
   * `rate_limited` where there is no place to wait.
   */
  async wait(options: {
    readonly isChanged: () => boolean
    readonly waitMs: number
    readonly taker: PlaceTaker
    readonly signal: AbortSignal
  }): Promise<void> {
    const { isChanged, waitMs, taker, signal } = options
    if (this.#stopped || isChanged()) return
    const leave = this.#places.take(taker)
    try {
      await firstOf({
        clock: this.#clock,
        ms: waitMs,
        signal,
        listen: (found) => {
          const look = (): void => {
            if (this.#stopped || isChanged()) found()
          }
          this.#waiting.add(look)
          return () => this.#waiting.delete(look)
        },
        timeout: nothing,
      })
    } finally {
      leave()
    }
  }
}
