/** How many new nodes the leader takes in. */
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { fullBucket, takeToken, type TokenBucket } from '../../lib/token-bucket.ts'

/** New nodes within a second; the others try again. */
const rate = { perSecond: 1_000, burst: 1_000 }

export class NodeAdmission {
  readonly #clock: Clock
  readonly #bucket: TokenBucket

  constructor(clock: Clock) {
    this.#clock = clock
    this.#bucket = fullBucket(rate, clock.monotonicMs())
  }

  /** Throws `overloaded` at the bound. */
  take(): void {
    if (takeToken(this.#bucket, rate, this.#clock.monotonicMs()) === 0) return
    const text = `${rate.perSecond} new nodes registered within a second: try again`
    throw new MusterError('overloaded', text)
  }
}
