/**
 * Evaluations that workers of other servers have under way. Each is lent for a short time, which its worker prolongs; one that was not
 * prolonged, or whose worker says that it failed, is the leader's again. What its worker still wants to do then is refused.
 */
import { randomUUID } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { DeadlineWheel } from '../../lib/deadline-wheel.ts'
import { MusterError } from '../../lib/errors.ts'
import { lentMs } from './model.ts'

const sliceMs = 500
const batchMax = 256

export class LentEvaluations {
  readonly #clock: Clock
  readonly #tokens = new Map<string, string>()
  readonly #wheel: DeadlineWheel<string>

  /** `onLapsed`: it was not prolonged, and is not lent any more. */
  constructor(clock: Clock, onLapsed: (id: string) => void) {
    this.#clock = clock
    this.#wheel = new DeadlineWheel<string>({
      clock,
      sliceMs,
      keyOf: (id) => id,
      batchMax,
      onDue: (ids) => {
        for (const id of ids) if (this.#tokens.delete(id)) onLapsed(id)
      },
    })
    this.#wheel.start()
  }

  get size(): number {
    return this.#tokens.size
  }

  stop(): void {
    this.#wheel.stop()
  }

  /** Returns what proves that it was lent. */
  lend(id: string): string {
    const token = randomUUID()
    this.#tokens.set(id, token)
    this.#arm(id)
    return token
  }

  /** False: it is not lent any more, or to another. */
  prolong(id: string, token: string): boolean {
    if (this.#tokens.get(id) !== token) return false
    this.#arm(id)
    return true
  }

  /** Throws `conflict` where it was not lent so. */
  mustHave(id: string, token: string): void {
    if (this.prolong(id, token)) return
    throw new MusterError('conflict', `evaluation ${id} is not lent to this worker any more`)
  }

  /** False: it was not lent so. */
  end(id: string, token: string): boolean {
    if (this.#tokens.get(id) !== token) return false
    this.#tokens.delete(id)
    this.#wheel.cancel(id)
    return true
  }

  #arm(id: string): void {
    this.#wheel.arm(id, this.#clock.monotonicMs() + lentMs)
  }
}
