/** The time that one login has for everything it asks of directories, and the signal that ends it sooner. */
import type { Clock } from '../../lib/clock.ts'
import { DirectoryError } from './directory-error.ts'

export type Budget = {
  readonly clock: Clock
  /** Monotonic ms of the clock. */
  readonly deadlineMs: number
  readonly signal: AbortSignal
}

/** Throws when the time is up or the caller has gone. */
export function leftMs({ clock, deadlineMs, signal }: Budget): number {
  const left = deadlineMs - clock.monotonicMs()
  if (left <= 0 || signal.aborted) throw new DirectoryError('timeout', 'the time is up')
  return left
}

/** Runs `task`; calls `stop` once, with the reason, if it is not over within `limitMs`, the budget, or the caller's patience. */
export async function bounded<T>(
  budget: Budget,
  limitMs: number,
  stop: (reason: DirectoryError) => void,
  task: () => Promise<T>,
): Promise<T> {
  const waitMs = Math.min(limitMs, leftMs(budget))
  const timer = budget.clock.setTimer(waitMs, () => {
    stop(new DirectoryError('timeout', `no answer within ${Math.round(waitMs)} ms`))
  })
  const onAbort = (): void => stop(new DirectoryError('timeout', 'the caller has gone'))
  budget.signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await task()
  } finally {
    timer.cancel()
    budget.signal.removeEventListener('abort', onAbort)
  }
}
