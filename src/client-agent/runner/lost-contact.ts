/**
 * Ends what is not to run on without servers: groups that say so, that long after the last heartbeat that a server answered, by this
 * machine's own monotonic clock. The time counts from when the agent came to know the group at the earliest.
 */
import { stopsAfterMsMin } from '../../domains/allocations/window-model.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { nsPerMs } from '../../lib/duration.ts'
import type { Logger } from '../../lib/log.ts'
import type { AllocationRunner } from './allocation-runner.ts'

const lookMs = 500

export type Contact = {
  /** Since the last heartbeat that a server answered; Infinity: none did yet. */
  readonly silentMs: () => number
  /** A heartbeat is due earlier than it would be. */
  readonly renew: () => void
}

export type LostContactOptions = {
  readonly contact: Contact
  readonly held: () => Iterable<AllocationRunner>
  readonly clock: Clock
  readonly log: Logger
}

export class LostContact {
  readonly #options: LostContactOptions
  /** Since when the agent knows of each. */
  readonly #sinceMs = new WeakMap<AllocationRunner, number>()
  #timer: Timer | null = null

  constructor(options: LostContactOptions) {
    this.#options = options
  }

  start(): void {
    this.#timer = this.#options.clock.setTimer(lookMs, () => {
      this.#look()
      this.start()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  #look(): void {
    const { contact, held, clock, log } = this.#options
    const now = clock.monotonicMs()
    for (const runner of held()) {
      const afterNs = runner.assigned.group.StopAfterClientDisconnect
      if (afterNs === null || runner.isOver) continue
      const sinceMs = this.#sinceMs.get(runner) ?? now
      this.#sinceMs.set(runner, sinceMs)
      const forMs = Math.min(now - sinceMs, contact.silentMs())
      const afterMs = Math.max(stopsAfterMsMin, afterNs / nsPerMs)
      if (forMs >= afterMs / 2) contact.renew()
      if (forMs < afterMs || !runner.lostContact()) continue
      log.warn('an allocation ends, for no server answered for too long', { id: runner.id })
    }
  }
}
