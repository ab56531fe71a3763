/**
 * One timer for many deadlines, most of which never come: it fires at the earliest that it was told of since it fired last. What
 * that was for may be over by then; whoever looks says what the earliest is now. So calls that come and go cost no timers, and
 * one that lasts for long costs two.
 */
import { timerMsMax, type Clock, type Timer } from './clock.ts'

export class EarliestTimer {
  readonly #clock: Clock
  readonly #look: (nowMs: number) => number
  #timer: Timer | null = null
  #atMs = Infinity

  /** `look`: at what is due. Returns the earliest deadline of the rest, monotonic ms; Infinity: there is none. It must not throw. */
  constructor(clock: Clock, look: (nowMs: number) => number) {
    this.#clock = clock
    this.#look = look
  }

  /** `look` is called by then. Monotonic ms. */
  by(deadlineMs: number): void {
    if (deadlineMs >= this.#atMs) return
    this.#timer?.cancel()
    this.#atMs = deadlineMs
    const delayMs = Math.max(0, deadlineMs - this.#clock.monotonicMs())
    this.#timer = this.#clock.setTimer(Math.min(delayMs, timerMsMax), () => {
      this.#timer = null
      this.#atMs = Infinity
      this.by(this.#look(this.#clock.monotonicMs()))
    })
  }

  cancel(): void {
    this.#timer?.cancel()
    this.#timer = null
    this.#atMs = Infinity
  }
}
