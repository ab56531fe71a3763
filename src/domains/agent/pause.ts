/** Waiting for a while, and no longer than somebody wants it. */
import type { Clock } from '../../lib/clock.ts'

/** Resolves after `delayMs` or as soon as the signal fires, whichever comes first. */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.setTimer(delayMs, done)
    if (signal.aborted) done()
    else signal.addEventListener('abort', done, { once: true })
  })
}
