/**
 * How much of the time in which this process was not run is added to what it waits for.
 *
 * A stop of at least `longMs` is made up for in full: a burst of packets follows it, and they are to be heard before
 * anybody is judged. Shorter ones come by the dozen on a busy machine; they share `leftMs`, or a wait would never end.
 *
 * Invariant: `leftMs` never falls below 0, and short stops together add what it was at first, no more.
 */
import { assert } from '../../lib/assert.ts'

export type Patience = {
  readonly longMs: number
  leftMs: number
}

/** Short stops together at most double the wait. */
export function patienceOf(waitMs: number): Patience {
  return { longMs: waitMs, leftMs: waitMs }
}

/** The milliseconds to wait longer for. */
export function makeUpFor(patience: Patience, stopMs: number): number {
  if (stopMs >= patience.longMs) return stopMs
  const granted = Math.min(stopMs, patience.leftMs)
  patience.leftMs -= granted
  assert(patience.leftMs >= 0, 'patience is spent once')
  return granted
}
