/** The clock of a machine whose time of day a test sets; what lasts is as it was. */
import { systemClock, type Clock } from '../../src/lib/clock.ts'

export type MovableClock = Clock & { aheadMs: number }

export function movableClock(): MovableClock {
  const clock = {
    ...systemClock,
    aheadMs: 0,
    wallMs: () => systemClock.wallMs() + clock.aheadMs,
  }
  return clock
}
