/**
 * Time is handed in: nothing outside this file and its fake in the simulator asks the system.
 */
export type Timer = { cancel(): void }

/** Of the longest timer. A longer one would fire at once. */
export const timerMsMax = 2 ** 31 - 1

export type Clock = {
  /** Milliseconds that never go back, with fractions; only differences mean anything. */
  monotonicMs(): number
  /** Milliseconds since the Unix epoch, never negative, may jump: entries of the log take no time before it. */
  wallMs(): number
  /** Calls `run` once after `delayMs` (0 to `timerMsMax`). The owner cancels it when it stops. */
  setTimer(delayMs: number, run: () => void): Timer
}

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Math.max(0, Date.now()),
  setTimer(delayMs, run) {
    // Node.js drops a fraction: the timer would fire before its time, and be set again for the rest.
    const handle = setTimeout(run, Math.ceil(delayMs))
    return { cancel: () => clearTimeout(handle) }
  },
}

/** Counts from a moment that all processes of this machine share: one may hand another a deadline. */
export const machineClock: Clock = {
  ...systemClock,
  monotonicMs: () => Number(process.hrtime.bigint()) / 1e6,
}
