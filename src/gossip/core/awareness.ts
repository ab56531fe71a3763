/**
 * Own health as a score: a member that hears little is more likely ill itself than surrounded by the dead, so the
 * worse it fares, the more patience it has with others (Lifeguard, "local health multiplier").
 *
 * Invariant: `0 <= score < limit`.
 */
import { assert } from '../../lib/assert.ts'

export class Awareness {
  readonly #limit: number
  #score = 0

  constructor(limit: number) {
    assert(limit >= 1, 'the health score has room for at least "well"')
    this.#limit = limit
  }

  /** 0 is well. */
  get score(): number {
    return this.#score
  }

  apply(delta: number): void {
    this.#score = Math.max(0, Math.min(this.#limit - 1, this.#score + delta))
  }

  scale(ms: number): number {
    return ms * (this.#score + 1)
  }
}
