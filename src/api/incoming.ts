/**
 * A request as the listeners make it. Its body may be taken piece by piece as the parser finds it, past the stream that Node
 * makes of it: that stream's life (flowing, ended, closed, each in a turn of its own) costs more than reading a small body.
 */
import { IncomingMessage } from '../lib/http.ts'
import { Readable } from 'node:stream'
import { assert } from '../lib/assert.ts'

/** Called for every piece, and with null at the end of the body. */
export type BodyTaker = (piece: Buffer | null) => void

export class IncomingRequest extends IncomingMessage {
  #taker: BodyTaker | null = null
  #taken = false
  #sendContinue: (() => void) | null = null

  /** The client sends its body when it is told to: when the server reads it, or never. */
  awaitsContinue(send: () => void): void {
    this.#sendContinue = send
  }

  get waitsForContinue(): boolean {
    return this.#sendContinue !== null
  }

  /** Before the body is read. */
  continueBody(): void {
    const send = this.#sendContinue
    this.#sendContinue = null
    send?.()
  }

  /** Whether all of the body is still to come: once the stream has a piece of it, or its end, it is too late to take it. */
  get bodyIsAhead(): boolean {
    return !this.complete && this.readableLength === 0
  }

  /** Before the first piece came, as in the turn in which the request did. Of a request that breaks off only `close` tells. */
  takeBody(taker: BodyTaker): void {
    assert(this.bodyIsAhead, 'a body is taken before it is there')
    this.#taker = taker
    this.read(0)
  }

  /** From now on the stream has what comes. */
  leaveBody(): void {
    this.#taker = null
  }

  /** The reader of the body bounds it, so the connection is never asked to wait. */
  override push(piece: Buffer | null): boolean {
    if (this.#taker === null) return super.push(piece)
    if (piece === null) this.#taken = true
    this.#taker(piece)
    return true
  }

  static {
    // Node asks before it lets go of a request whose answer is out. Its types say property where it has an accessor.
    Object.defineProperty(this.prototype, 'readableEnded', {
      get(this: IncomingRequest): boolean {
        return this.#taken || Reflect.get(Readable.prototype, 'readableEnded', this)
      },
    })
  }
}

/** A client that asked whether it may send its body, and was not told yet. */
export function waitsForContinue(request: IncomingMessage): boolean {
  return request instanceof IncomingRequest && request.waitsForContinue
}

/** Tells a client that asked to send its body. */
export function continueBody(request: IncomingMessage): void {
  if (request instanceof IncomingRequest) request.continueBody()
}

/** As `takeBody` of an `IncomingRequest`, also of a request that had to wait, and of one that no listener made. */
export function takeBody(request: IncomingMessage, taker: BodyTaker): () => void {
  if (request instanceof IncomingRequest && request.bodyIsAhead) {
    request.takeBody(taker)
    return () => request.leaveBody()
  }
  const onEnd = () => taker(null)
  request.on('data', taker).on('end', onEnd)
  return () => request.off('data', taker).off('end', onEnd)
}
