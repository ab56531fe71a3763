/**
 * How much of the time in which this process was not run is added to what it waits for.
 *
 * A stop of at least `longMs` is made up for in full: a burst of packets follows it, and they are to be heard before
 * any member is judged. Shorter ones come by the dozen on a busy machine; they share `leftMs`, or a wait would never end.
 *
 * Invariant: `leftMs` never falls below 0, and short stops together add what it was at first, no more.
 */
import { assert } from '../../lib/assert.ts'

export type StallAllowance = {
  readonly longMs: number
  leftMs: number
}

/** Short stops together at most double the wait. */
export function stallAllowanceOf(waitMs: number): StallAllowance {
  return { longMs: waitMs, leftMs: waitMs }
}

/** The milliseconds to wait longer for. */
export function makeUpFor(allowance: StallAllowance, stopMs: number): number {
  if (stopMs >= allowance.longMs) return stopMs
  const granted = Math.min(stopMs, allowance.leftMs)
  allowance.leftMs -= granted
  assert(allowance.leftMs >= 0, 'allowance is spent once')
  return granted
}
