/** Waiting with an end. */
import type { Clock } from './clock.ts'

/** What the promise resolves to, or null when the time is up first; then nobody hears how it ends. Rejects as it does. */
export function within<Value>(
  promise: Promise<Value>,
  clock: Clock,
  limitMs: number,
): Promise<Value | null> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(limitMs, () => resolve(null))
    promise.then(
      (value) => {
        timer.cancel()
        resolve(value)
      },
      (error: unknown) => {
        timer.cancel()
        reject(error instanceof Error ? error : new Error(String(error)))
      },
    )
  })
}
