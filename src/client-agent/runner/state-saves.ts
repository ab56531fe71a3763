/** Writes what is to be kept of one allocation, one state at a time. */
import type { Clock } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { asWritten } from './kept-times.ts'
import type { KeptAllocation, StateStore } from './state-store.ts'

export type StateSavesOptions = {
  readonly store: Pick<StateStore, 'save'>
  readonly clock: Clock
  readonly log: Logger
}

/** Why the disk does not know it. */
export type Unsaved = { readonly error: unknown }

export class StateSaves {
  readonly #options: StateSavesOptions
  readonly #kept: () => KeptAllocation
  #saving: Promise<Unsaved | null> = Promise.resolve(null)
  #isDue = false

  /** `kept`: what is so now, with times of the monotonic clock. */
  constructor(options: StateSavesOptions, kept: () => KeptAllocation) {
    this.#options = options
    this.#kept = kept
  }

  /** Resolves to null once the disk knows what is so now, else to why it does not; never rejects. Writes that wait become one. */
  save(): Promise<Unsaved | null> {
    if (this.#isDue) return this.#saving
    this.#isDue = true
    this.#saving = this.#saving.then(async () => {
      this.#isDue = false
      const { store, clock, log } = this.#options
      const kept = this.#kept()
      try {
        await store.save(asWritten(kept, clock))
        return null
      } catch (error) {
        const allocation = kept.assigned.id
        log.error('the state of an allocation is not kept', { allocation, error: textOf(error) })
        return { error }
      }
    })
    return this.#saving
  }
}
