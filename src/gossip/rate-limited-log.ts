/** Lines for the log about what strangers send: each once in a while, however often it comes. */
import type { Clock } from '../lib/clock.ts'

const quietMs = 60_000
/** Things told lately; beyond them nothing is said until the oldest may be told again. */
const toldMax = 64

export class RateLimitedLog {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** When each thing was told, the oldest first. */
  readonly #told = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /** Whether this is to be told now; if so it counts as told. */
  due(what: string): boolean {
    const nowMs = this.#clock.monotonicMs()
    for (const [key, atMs] of this.#told) {
      if (nowMs - atMs < quietMs) break
      this.#told.delete(key)
    }
    if (this.#told.has(what) || this.#told.size >= toldMax) return false
    this.#told.set(what, nowMs)
    return true
  }
}
