/** Time that moves when the test says so. */
import type { Clock } from '../../src/lib/clock.ts'

export type ManualClock = Clock & {
  advance(byMs: number): void
  /** Timers that have not fired and were not cancelled. */
  readonly timerCount: number
}

export function manualClock(startWallMs = Date.UTC(2026, 0, 31, 12)): ManualClock {
  let nowMs = 0
  const timers = new Set<{ readonly atMs: number; readonly run: () => void }>()
  return {
    get timerCount() {
      return timers.size
    },
    monotonicMs: () => nowMs,
    wallMs: () => startWallMs + nowMs,
    setTimer(delayMs, run) {
      const timer = { atMs: nowMs + delayMs, run }
      timers.add(timer)
      return { cancel: () => void timers.delete(timer) }
    },
    /** Fires what is due at the end of the step, as a loop does that was held up. */
    advance(byMs) {
      nowMs += byMs
      for (const timer of [...timers].filter(({ atMs }) => atMs <= nowMs)) {
        timers.delete(timer)
        timer.run()
      }
    },
  }
}
