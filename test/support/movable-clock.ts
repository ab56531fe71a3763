/** The clock of a machine whose time of day a test sets; what lasts is as it was. */
import { systemClock, type Clock } from '../../src/lib/clock.ts'

export type MovableClock = Clock & { aheadMs: number }

/** `base`: what it is else. */
export function movableClock(base: Clock = systemClock): MovableClock {
  const clock = { ...base, aheadMs: 0, wallMs: () => base.wallMs() + clock.aheadMs }
  return clock
}
