/** How many new nodes the leader takes in. */
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'

export const newNodesPerSecondMax = 1_000
const secondMs = 1_000

export class NodeAdmission {
  readonly #clock: Clock
  #secondMs = -Infinity
  #taken = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws `overloaded` at the bound. */
  take(): void {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#secondMs >= secondMs) {
      this.#secondMs = nowMs
      this.#taken = 0
    }
    if (this.#taken >= newNodesPerSecondMax) {
      const text = `${newNodesPerSecondMax} new nodes registered within a second: try again`
      throw new MusterError('overloaded', text)
    }
    this.#taken += 1
  }
}
