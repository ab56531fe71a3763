/**
 * Which servers are to be removed, on whose word: the server's own, which is confirmed at its address, or an operator's,
 * which holds while the server does not answer Raft. Kept by the server that took the word, for a bounded time.
 */
import type { Clock } from '../lib/clock.ts'

/** Servers that are noted at once; the oldest note is forgotten first. */
export const departuresMax = 64
/** A word that could not be carried out by then is forgotten: an operator may repeat it. */
export const departureMs = 600_000

export type Note = {
  readonly id: string
  readonly why: 'left' | 'givenUp'
  /** Monotonic. */
  readonly notedMs: number
}

export class Departures {
  readonly #clock: Clock
  readonly #notes = new Map<string, Note>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A note that stands stays as it is: it counts from the first word. */
  note(id: string, why: Note['why']): void {
    const known = this.#notes.get(id)
    if (known?.why === why) return
    this.#notes.delete(id)
    this.#notes.set(id, { id, why, notedMs: this.#clock.monotonicMs() })
    for (const oldest of this.#notes.keys()) {
      if (this.#notes.size <= departuresMax) break
      this.#notes.delete(oldest)
    }
  }

  forget(id: string): void {
    this.#notes.delete(id)
  }

  list(): readonly Note[] {
    const sinceMs = this.#clock.monotonicMs() - departureMs
    for (const { id, notedMs } of this.#notes.values()) if (notedMs < sinceMs) this.forget(id)
    return [...this.#notes.values()]
  }
}
