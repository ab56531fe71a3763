/**
 * Which lock delays are over, by this server's own monotonic clock from when it applied the entry that ended the session: so they
 * last as long as they are to, however the clocks of servers differ or are set. Kept on every server, so that whichever leads next
 * knows it too.
 *
 * The end of a session was committed before any server applied it: no delay is shorter than it was to be, and a server that was
 * behind has it longer. What was in the state before this server began to listen counts from the first entry that it applies.
 */
import type { Clock } from '../../lib/clock.ts'
import { lockDelayEffectMsMax } from '../sessions/model.ts'
import type { LockDelay } from './model.ts'

/** How a server hears of what it applies. Each returns the way to stop listening. */
export type AppliedIndexes = {
  onApplied(listener: (appliedIndex: number) => void): () => void
  onReplaced(listener: () => void): () => void
}

/** By so much a delay may be too long: what is applied meanwhile is remembered as one. */
export const stepMs = 100

/** Everything up to `index`, and behind what is before, was applied by `atMs`. */
type Seen = { readonly sinceMs: number; atMs: number; index: number }

export class DelayClock {
  readonly #clock: Clock
  readonly #unsubscribe: readonly (() => void)[]
  /** In order. The first one stands for all before it. */
  #seen: Seen[] = []
  #sinceMs: number

  constructor(clock: Clock, applied: AppliedIndexes) {
    this.#clock = clock
    this.#sinceMs = clock.monotonicMs()
    this.#unsubscribe = [
      applied.onApplied((index) => this.#applied(index)),
      applied.onReplaced(() => {
        this.#seen = []
        this.#sinceMs = clock.monotonicMs()
      }),
    ]
  }

  /** A delay of a cluster with older servers has no index: by this server's wall clock, and by no more than any delay may be. */
  isHeldBack({ untilMs, ended }: LockDelay): boolean {
    if (ended !== null) {
      return this.#clock.monotonicMs() < this.#seenMs(ended.index) + ended.delayMs
    }
    const leftMs = untilMs - this.#clock.wallMs()
    return leftMs > 0 && leftMs <= lockDelayEffectMsMax
  }

  /** Delays of sessions that ended up to here are over, whatever they were. */
  get overIndex(): number {
    const beforeMs = this.#clock.monotonicMs() - lockDelayEffectMsMax
    return this.#seen.findLast(({ atMs }) => atMs <= beforeMs)?.index ?? 0
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
  }

  /**
   * An archive's row may be of an index that is not reached here: it counts from when it came, and once more when that index is
   * reached, if that is before it is removed.
   */
  #seenMs(endIndex: number): number {
    return this.#seen.find(({ index }) => index >= endIndex)?.atMs ?? this.#sinceMs
  }

  #applied(index: number): void {
    const nowMs = this.#clock.monotonicMs()
    const last = this.#seen.at(-1)
    if (last !== undefined && nowMs < last.sinceMs + stepMs) {
      last.index = index
      last.atMs = nowMs
      return
    }
    this.#seen.push({ sinceMs: nowMs, atMs: nowMs, index })
    const beforeMs = nowMs - lockDelayEffectMsMax
    while ((this.#seen[1]?.atMs ?? nowMs) < beforeMs) this.#seen.shift()
  }
}
