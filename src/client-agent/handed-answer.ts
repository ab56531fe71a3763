/**
 * An answer that is read by Node's HTTP client, of a request that was sent without it: the connection is handed to it as it is, with
 * what has come already. What it writes, which is the head of that request again, goes nowhere.
 */
import { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { request as httpRequest, type IncomingMessage } from '../lib/http.ts'
import { onAbort } from '../lib/async.ts'
import { idleMsOf } from './plain-answer.ts'

export type Handed = {
  /** Nobody else reads it, or knows of its end. */
  readonly socket: Socket
  /** What has come on it. */
  readonly pieces: readonly Buffer[]
  readonly method: string
  readonly signal: AbortSignal
  /**
   * Once. The answer has come to its end, and nothing listens to the connection any more, which the server keeps for so long when
   * nothing is asked; null: it is destroyed.
   */
  readonly onOver: (idleMs: number | null) => void
}

/** Resolves with the head of the answer. Rejects when there comes none. */
export function handedAnswer({
  socket,
  pieces,
  method,
  signal,
  onOver,
}: Handed): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const connection = new HandedConnection(socket, pieces)
    const unheard = onAbort(signal, () => connection.destroy())
    let idleMs: number | null = null
    connection.once('close', () => {
      unheard()
      if (idleMs === null) socket.destroy()
      else socket.resume()
      onOver(idleMs)
    })
    const request = httpRequest({ method, createConnection: () => connection })
    request.on('error', reject)
    request.on('response', (answer) => {
      answer.once('end', () => {
        const { connection: kept, 'keep-alive': idle } = answer.headers
        if (answer.complete && kept === 'keep-alive' && connection.release()) {
          idleMs = idleMsOf(typeof idle === 'string' ? idle : undefined)
        }
        connection.destroy()
      })
      // The reader left: so does whoever writes.
      answer.once('close', () => connection.destroy())
      resolve(answer)
    })
    request.end()
  })
}

class HandedConnection extends Duplex {
  readonly #socket: Socket
  #isReleased = false

  readonly #onData = (piece: Buffer): void => {
    if (!this.push(piece)) this.#socket.pause()
  }

  readonly #onEnd = (): void => {
    this.push(null)
  }

  readonly #onGone = (): void => {
    if (this.#socket.errored === null) this.push(null)
    else this.destroy(this.#socket.errored)
  }

  constructor(socket: Socket, pieces: readonly Buffer[]) {
    super()
    this.#socket = socket
    for (const piece of pieces) this.push(piece)
    socket.on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onGone)
    if (socket.destroyed) this.#onGone()
  }

  /** False: there is no connection any more. */
  release(): boolean {
    const socket = this.#socket
    if (socket.destroyed || this.readableLength > 0) return false
    socket.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onGone)
    this.#isReleased = true
    return true
  }

  override _read(): void {
    if (!this.#isReleased) this.#socket.resume()
  }

  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    done()
  }
}
