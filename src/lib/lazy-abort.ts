/**
 * An `AbortController` that is made when its signal is asked for. Most requests end without such a request, and
 * thousands that wait need no more than to be told: a controller, its signal and a listener are 700 bytes for each.
 */

/** Told once. As listeners of an `AbortSignal` are. */
export type AbortListener = { handleEvent(): void }

/** Whether what is done is still wanted. An `AbortSignal` is one. */
export interface Abortable {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: AbortListener): void
  removeEventListener(type: 'abort', listener: AbortListener): void
}

export class LazyAbort implements Abortable {
  #aborted = false
  #listener: AbortListener | null = null
  #controller: AbortController | null = null

  get aborted(): boolean {
    return this.#aborted
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.#aborted) this.#controller.abort()
    }
    return this.#controller.signal
  }

  /** The first listener is kept here; more at a time are the signal's. */
  addEventListener(type: 'abort', listener: AbortListener): void {
    if (this.#listener === null) this.#listener = listener
    else this.signal.addEventListener(type, listener)
  }

  removeEventListener(type: 'abort', listener: AbortListener): void {
    if (this.#listener === listener) this.#listener = null
    else this.#controller?.signal.removeEventListener(type, listener)
  }

  /** Once more does nothing. */
  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    const listener = this.#listener
    this.#listener = null
    listener?.handleEvent()
    this.#controller?.abort()
  }
}

/** Either is handed down a call that may end without a look at it. */
export type AbortSource = AbortSignal | LazyAbort

export function signalOf(source: AbortSource): AbortSignal {
  return source instanceof LazyAbort ? source.signal : source
}
