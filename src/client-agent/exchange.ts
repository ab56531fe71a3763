/** One request that is sent whole, until its answer is there or it has failed. Whoever has it in hand says how an abort ends it. */
import type { IncomingMessage } from '../lib/http.ts'
import type { AbortListener, AbortSource } from '../lib/lazy-abort.ts'

/** Bodies up to this, either way, are taken whole, which is cheaper than to stream them. */
export const wholeBytesMax = 64 * 1024

export type WholeAnswer = {
  readonly status: number
  /** Names and values in turn, as they were written. */
  readonly lines: readonly string[]
  readonly body: Buffer
}

export type Answered = WholeAnswer | IncomingMessage

/** `text`: the request as it goes over the wire, a character for each byte. */
export type Sent = { readonly method: string; readonly text: string; readonly signal: AbortSource }

export class Exchange implements AbortListener {
  readonly sent: Sent
  /** What an abort does. */
  onAbort: (() => void) | null = null
  readonly #resolve: (answer: Answered | Promise<Answered>) => void
  readonly #reject: (error: Error) => void

  constructor(
    sent: Sent,
    resolve: (answer: Answered | Promise<Answered>) => void,
    reject: (error: Error) => void,
  ) {
    this.sent = sent
    this.#resolve = resolve
    this.#reject = reject
    sent.signal.addEventListener('abort', this)
  }

  handleEvent(): void {
    this.onAbort?.()
  }

  /** Once, or `fail`. */
  resolve(answer: Answered | Promise<Answered>): void {
    this.#leave()
    this.#resolve(answer)
  }

  fail(error: Error): void {
    this.#leave()
    this.#reject(error)
  }

  #leave(): void {
    this.sent.signal.removeEventListener('abort', this)
    this.onAbort = null
  }
}
