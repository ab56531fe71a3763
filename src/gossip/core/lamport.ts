/**
 * Logical time: what was caused by a message is later than the message.
 *
 * Invariant: `0 <= time <= lamportMax`, never falling. A time that leaps further than honest use ever could is refused,
 * so that one forged message cannot run the clock to its end.
 */
import { assert } from '../../lib/assert.ts'

/** A safe integer, so that no addition loses a unit. */
export const lamportMax = 2 ** 52
/** A newcomer may be that far behind the pool. */
export const lamportJumpMax = 2 ** 32

export class LamportClock {
  #time = 1

  get time(): number {
    return this.#time
  }

  /** Returns the new time. At the end of time it stands still. */
  increment(): number {
    this.#time = Math.min(this.#time + 1, lamportMax)
    return this.#time
  }

  /** Goes past a time that was seen. False: refused, the message is not to be used. */
  witness(time: number): boolean {
    if (!Number.isSafeInteger(time) || time < 0) return false
    if (time > Math.min(this.#time + lamportJumpMax, lamportMax)) return false
    this.#time = Math.min(Math.max(this.#time, time + 1), lamportMax)
    assert(this.#time >= 1, 'logical time begins at one')
    return true
  }
}
