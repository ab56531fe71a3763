/**
 * How long a silence is borne before an election: a fixed time, or one that follows the longest silences that were
 * observed lately. Time is an input, as everywhere in the core.
 *
 * Invariant: `minMs <= ms <= maxMs`; with a fixed timeout all three are the same.
 */
export type PatienceOptions = {
  /** The timeout until enough was observed, and the only one if `adaptive` is null. */
  readonly electionMs: number
  readonly adaptive: { readonly minMs: number; readonly maxMs: number } | null
}

/** The timeout is this many times the longest silence that was borne lately. */
const peakFactor = 3
/** A peak is remembered for this many spans of time, and at least for one less. */
const spansKept = 4
const spanMs = 15_000
/** Before so many observations the first timeout stands: the process is young, and its first seconds are uneven. */
const observationsMin = 30

export class Patience {
  readonly #options: PatienceOptions
  /** The longest observation of each span, the present one last. */
  readonly #peaks: number[] = [0]
  #spanEndsAt: number
  #observations = 0
  #ms: number

  constructor(options: PatienceOptions, now: number) {
    this.#options = options
    this.#spanEndsAt = now + spanMs
    this.#ms = options.electionMs
  }

  /** The timeout at present. */
  get ms(): number {
    return this.#ms
  }

  /** No timeout is longer. */
  get longestMs(): number {
    const { electionMs, adaptive } = this.#options
    return adaptive === null ? electionMs : Math.max(electionMs, adaptive.maxMs)
  }

  /** A silence of `silentMs` has ended, or this server itself was late by so much. */
  observe(silentMs: number, now: number): void {
    const { electionMs, adaptive } = this.#options
    if (adaptive === null) return
    this.#forget(now)
    this.#observations += 1
    const last = this.#peaks.length - 1
    const peak = this.#peaks[last] ?? 0
    if (silentMs > peak) this.#peaks[last] = silentMs
    const wanted = peakFactor * Math.max(...this.#peaks)
    const least = this.#observations < observationsMin ? electionMs : adaptive.minMs
    this.#ms = Math.min(Math.max(wanted, least), adaptive.maxMs)
  }

  #forget(now: number): void {
    while (now >= this.#spanEndsAt && this.#peaks.some((peak) => peak > 0)) {
      this.#spanEndsAt += spanMs
      this.#peaks.push(0)
      if (this.#peaks.length > spansKept) this.#peaks.shift()
    }
    // All is forgotten after a long rest, however long it was.
    if (now >= this.#spanEndsAt) this.#spanEndsAt = now + spanMs
  }
}
