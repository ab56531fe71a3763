/** How many new nodes the leader takes in, and how often one may change: what follows of each change is work for all servers. */
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { fullBucket, takeToken, TokenBuckets, type TokenBucket } from '../../lib/token-bucket.ts'

/** New nodes within a second; the others try again. */
const rate = { perSecond: 1_000, burst: 1_000 }
/** Changes of one known node by its agent. */
const changeRate = { perSecond: 0.5, burst: 20 }
/** Nodes whose changes are counted; another one's have not begun. */
const nodesMax = 32_768

export class NodeAdmission {
  readonly #clock: Clock
  readonly #bucket: TokenBucket
  readonly #changes: TokenBuckets

  constructor(clock: Clock) {
    this.#clock = clock
    this.#bucket = fullBucket(rate, clock.monotonicMs())
    this.#changes = new TokenBuckets(changeRate, nodesMax, clock)
  }

  /** Throws `overloaded` at the bound. */
  take(): void {
    if (takeToken(this.#bucket, rate, this.#clock.monotonicMs()) === 0) return
    const text = `${rate.perSecond} new nodes registered within a second: try again`
    throw new MusterError('overloaded', text)
  }

  /** Throws `rate_limited` where the agent of this node changes its record too often. */
  takeChange(node: string): void {
    if (this.#changes.take(node) === 0) return
    const { burst, perSecond } = changeRate
    const text = `an agent may change its node ${burst} times at once, and then once in ${1 / perSecond} s`
    throw new MusterError('rate_limited', text)
  }
}
