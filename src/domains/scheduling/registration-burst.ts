/**
 * Registrations of jobs that come fast. Clients wait for them; what is to be placed may wait a moment more, so while they come the
 * evaluations that they made do not take the leader's time from them.
 */
import type { Clock, Timer } from '../../lib/clock.ts'

/** So many within this time begin a burst: of jobs that are registered one by one and looked at each, none waits. */
const burstMin = 8
const burstWithinMs = 100
/** It is over when none came for this long. */
const quietMs = 50
/** However long it is. */
const waitMsMax = 250

export class RegistrationBurst {
  readonly #clock: Clock
  readonly #onLook: () => void
  /** When the last ones came, `#next` the oldest. */
  readonly #cameMs = Array<number>(burstMin).fill(-Infinity)
  #next = 0
  #timer: Timer | null = null

  /** `onLook`: some may have waited long enough. */
  constructor(clock: Clock, onLook: () => void) {
    this.#clock = clock
    this.#onLook = onLook
  }

  /** How long evaluations of registrations wait now. */
  get waitMs(): number {
    return this.#timer === null ? 0 : waitMsMax
  }

  came(): void {
    const nowMs = this.#clock.monotonicMs()
    this.#cameMs[this.#next] = nowMs
    this.#next = (this.#next + 1) % burstMin
    const oldestMs = this.#cameMs[this.#next] ?? -Infinity
    if (this.#timer === null && nowMs - oldestMs < burstWithinMs) this.#watch()
  }

  stop(): void {
    this.#timer?.cancel()
    this.#timer = null
  }

  #watch(): void {
    this.#timer = this.#clock.setTimer(quietMs, () => {
      this.#timer = null
      const lastMs = this.#cameMs.at(this.#next - 1) ?? -Infinity
      if (this.#clock.monotonicMs() - lastMs < quietMs) this.#watch()
      this.#onLook()
    })
  }
}
