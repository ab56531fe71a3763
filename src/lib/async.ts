/**
 * Waiting with an end: for a time, for a promise, for an event.
 *
 * However a wait ends, its timer is cancelled and its listeners are removed before its promise settles. `write.ts` and
 * `blocking-read.ts` of `rpc` and `raft/waiters.ts` wait in their own way, for they run once per request and every closure counts
 * there.
 */
import type { Clock, Timer } from './clock.ts'
import { MusterError } from './errors.ts'

/**
 * Calls `listener` once when the signal fires, or at once if it has fired already. Returns the way to stop listening,
 * which does no harm afterwards.
 */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): () => void {
  if (signal === undefined) return nothing
  if (signal.aborted) {
    listener()
    return nothing
  }
  signal.addEventListener('abort', listener, { once: true })
  return () => signal.removeEventListener('abort', listener)
}

/** Resolves after `ms`, or as soon as the signal fires. Never rejects: a loop that waits asks `signal.aborted` itself. */
export function delay(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return firstOf({ clock, ms, signal, listen: () => nothing, timeout: nothing, aborted: nothing })
}

/**
 * What the promise resolves to, or null when `ms` pass first; how the promise ends after that is ignored. Rejects as the
 * promise does.
 */
export function within<Value>(
  promise: Promise<Value>,
  clock: Clock,
  ms: number,
): Promise<Value | null> {
  return firstOf<Value | null>({
    clock,
    ms,
    listen(found, failed) {
      promise.then(found, failed)
      return nothing
    },
    timeout: () => null,
  })
}

/**
 * As the promise, unless the signal fires first; how the promise ends after that is ignored. Then it is what `aborted` gives or
 * throws; without that it rejects with `cancelled`.
 */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  aborted: () => Value = cancelled,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stopListening = onAbort(signal, () => {
      try {
        resolve(aborted())
      } catch (error) {
        reject(asError(error))
      }
    })
    promise.finally(() => stopListening()).then(resolve, reject)
  })
}

/** A time that something has, for what takes a signal. */
export type Deadline = {
  /** Fires as a `TimeoutError` once the time is over, and with the signal that the deadline was made of. */
  readonly signal: AbortSignal
  /** The time was over before it was cancelled, and before that signal fired. */
  readonly isLate: boolean
  /** What had this time is over: the signal does not fire any more. */
  cancel(): void
}

/** Whoever asks for it cancels it. */
export function deadlineOf(clock: Clock, ms: number, signal?: AbortSignal): Deadline {
  const ending = new AbortController()
  let isLate = false
  let stopListening = nothing
  const timer = clock.setTimer(ms, () => {
    isLate = true
    stopListening()
    ending.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'))
  })
  stopListening = onAbort(signal, () => {
    timer.cancel()
    ending.abort(signal?.reason)
  })
  return {
    signal: ending.signal,
    get isLate() {
      return isLate
    },
    cancel() {
      timer.cancel()
      stopListening()
    },
  }
}

/** A delay that its owner can end early. One at a time. */
export class Pause {
  readonly #clock: Clock
  #end = nothing

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** As `delay`, or until `end` is called. */
  wait(ms: number, signal?: AbortSignal): Promise<void> {
    const listen = (found: () => void) => {
      this.#end = found
      return () => {
        this.#end = nothing
      }
    }
    return firstOf({ clock: this.#clock, ms, signal, listen, timeout: nothing, aborted: nothing })
  }

  /** Does nothing while nothing waits. */
  end(): void {
    this.#end()
  }
}

/**
 * A failure that may come at any time, beside what is waited for again and again. No promise: one that lasts keeps what every
 * race with it came to.
 */
export class Failure {
  #error: Error | null = null
  #reject: (error: Error) => void = nothing

  /** The first one counts. */
  readonly fail = (error: unknown): void => {
    if (this.#error !== null) return
    this.#error = asError(error)
    this.#reject(this.#error)
  }

  /** What the promise comes to, or the failure if it came before; how the promise ends after that is ignored. One at a time. */
  until<Value>(promise: Promise<Value>): Promise<Value> {
    return new Promise((resolve, reject) => {
      if (this.#error === null) this.#reject = reject
      else reject(this.#error)
      promise
        .finally(() => {
          this.#reject = nothing
        })
        .then(resolve, reject)
    })
  }
}

export type Wait<Value> = {
  readonly clock: Clock
  readonly ms: number
  readonly signal?: AbortSignal | undefined
  /**
   * Begins to listen for the event, which `found` or `failed` is called with; the call may come before `listen` returns.
   * Returns the way to stop listening.
   */
  readonly listen: (found: (value: Value) => void, failed: (error: unknown) => void) => () => void
  /** What the wait resolves to after `ms`. When it throws, the wait rejects with that. */
  readonly timeout: () => Value
  /** The same for the signal. Without it, the wait rejects with `cancelled`. */
  readonly aborted?: () => Value
}

/** Settles on the first of event, timer and signal. Nothing is listened to when the signal has fired already. */
export function firstOf<Value>(wait: Wait<Value>): Promise<Value> {
  const { clock, ms, signal, listen, timeout, aborted = cancelled } = wait
  return new Promise((resolve, reject) => {
    let over = false
    let timer: Timer | null = null
    let stopEvent = nothing
    let stopSignal = nothing
    const leave = (): boolean => {
      if (over) return false
      over = true
      timer?.cancel()
      stopEvent()
      stopSignal()
      return true
    }
    const end = (outcome: () => Value): void => {
      if (!leave()) return
      try {
        resolve(outcome())
      } catch (error) {
        reject(asError(error))
      }
    }
    if (signal?.aborted === true) {
      end(aborted)
      return
    }
    stopEvent = listen(
      (value) => {
        if (leave()) resolve(value)
      },
      (error) => {
        if (leave()) reject(asError(error))
      },
    )
    // The event was there already: `leave` did not know yet how to stop listening.
    if (over) {
      stopEvent()
      return
    }
    timer = clock.setTimer(Math.max(0, ms), () => end(timeout))
    stopSignal = onAbort(signal, () => end(aborted))
  })
}

/** An outcome without a value, and a stop function where there is nothing to stop. */
export function nothing(): void {}

function cancelled(): never {
  throw new MusterError('cancelled', 'the caller went away')
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
