/**
 * Whether very many blocking queries wait here. What a request holds while it waits is old by the time of its answer, so many
 * of them leave old garbage behind at a rate that nothing else comes near; the code that bounds the heap needs to know.
 */
import type { Clock, Timer } from '../lib/clock.ts'

/** Queries that wait at a time, from which on they are a crowd. */
export const crowdMin = 2_000
/** A crowd is over when it was none for so long: those that are just being answered come again. */
export const crowdEndMs = 30_000

export class Crowd {
  readonly #clock: Clock
  readonly #tell: (crowded: boolean) => void
  #seen = false
  #timer: Timer | null = null

  /** `tell`: called when a crowd begins, and when it is over. */
  constructor(clock: Clock, tell: (crowded: boolean) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  /** One more waits now. */
  saw(count: number): void {
    if (count < crowdMin) return
    this.#seen = true
    if (this.#timer !== null) return
    this.#tell(true)
    this.#lookLater()
  }

  stop(): void {
    if (this.#timer === null) return
    this.#timer.cancel()
    this.#timer = null
    this.#tell(false)
  }

  #lookLater(): void {
    this.#seen = false
    this.#timer = this.#clock.setTimer(crowdEndMs, () => {
      if (this.#seen) this.#lookLater()
      else this.stop()
    })
  }
}
