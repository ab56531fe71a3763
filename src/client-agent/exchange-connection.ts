/**
 * A connection to a server that is kept, with one request after the other on it. An answer of the plain form that is short enough is
 * taken as a whole; Node's HTTP client reads any other.
 */
import { connect, isIP, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { Clock } from '../lib/clock.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import { signalOf } from '../lib/lazy-abort.ts'
import { onceConnected } from './connecting.ts'
import { wholeBytesMax, type Exchange } from './exchange.ts'
import { handedAnswer } from './handed-answer.ts'
import { notSent } from './not-sent.ts'
import { headBytesMax, plainHeadOf, type PlainHead } from './plain-answer.ts'
import type { TlsConnection } from './server-trust.ts'

/** An answer that comes in more pieces is read by Node: each costs some hundred bytes here, however short it is. */
const piecesMax = 64
const keepAliveProbeMs = 1_000

export type ConnectionOptions = {
  readonly place: HttpAddress
  /** How to connect to it, if over TLS. Throws for a server that may not be asked. */
  readonly tls: () => TlsConnection | undefined
  /** A server that takes no connection within this time is left. */
  readonly connectMs: number
  /** A request is about to be sent. What this returns is called once: a head came, or the request is over. */
  readonly onAsked: () => () => void
  /** It may be asked something. */
  readonly onFree: (connection: Connection) => void
  /** It has closed. */
  readonly onGone: (connection: Connection) => void
  readonly clock: Clock
}

export class Connection {
  readonly socket: Socket
  /** The server may close it then. */
  idleUntilMs = 0
  readonly #options: ConnectionOptions
  #exchange: Exchange | null
  #isOpen = false
  #heard: (() => void) | null = null
  #head: PlainHead | 'other' | null = null
  #pieces: Buffer[] = []
  #length = 0

  /** Begins with the exchange once it is open. */
  constructor(options: ConnectionOptions, exchange: Exchange) {
    this.#options = options
    this.#exchange = exchange
    const { place, tls, connectMs, clock } = options
    const [to, secure] = [{ host: place.host, port: place.port, noDelay: true }, tls()]
    const socket = place.secure
      ? connectSecurely({
          ...to,
          servername: isIP(place.host) === 0 ? place.host : '',
          ALPNProtocols: ['http/1.1'],
          ...secure,
        })
      : connect(to)
    this.socket = socket
    exchange.onAbort = this.#destroy
    const ready = (): void => {
      this.#isOpen = true
      socket.setKeepAlive(true, keepAliveProbeMs)
      this.begin(exchange)
    }
    const connecting = { secure: place.secure, ms: connectMs, clock }
    onceConnected(socket, connecting, ready, (error) => socket.destroy(error))
    socket.on('data', this.#onData).on('close', this.#onClose).on('error', nothing)
  }

  begin(exchange: Exchange): void {
    this.#exchange = exchange
    exchange.onAbort = this.#destroy
    this.#heard = this.#options.onAsked()
    this.socket.write(exchange.sent.text, 'latin1')
  }

  readonly #destroy = (): void => {
    this.socket.destroy()
  }

  readonly #onData = (piece: Buffer): void => {
    const exchange = this.#exchange
    if (exchange === null || !this.#isOpen) {
      // Nothing was asked that this could answer.
      this.socket.destroy()
      return
    }
    this.#pieces.push(piece)
    this.#length += piece.length
    if (this.#head === null) this.#head = this.#seekHead(piece)
    const head = this.#head
    if (head === 'other' || this.#pieces.length > piecesMax) {
      this.#hand(exchange)
      return
    }
    if (head === null) return
    this.#overAsked()
    const missing = head.headBytes + head.bodyBytes - this.#length
    if (missing > 0) return
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const body = bytes.subarray(head.headBytes, head.headBytes + head.bodyBytes)
    this.#reset()
    exchange.resolve({ status: head.status, lines: head.lines, body })
    if (missing < 0) this.socket.destroy()
    else this.#free(head.idleMs)
  }

  /** Null: it is not whole yet. */
  #seekHead(piece: Buffer): PlainHead | 'other' | null {
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const text = bytes.toString('latin1', 0, headBytesMax + 4)
    const head = plainHeadOf(text)
    if (head !== null) return head.bodyBytes > wholeBytesMax ? 'other' : head
    return text.includes('\r\n\r\n') || bytes.length > headBytesMax ? 'other' : null
  }

  #hand(exchange: Exchange): void {
    const pieces = this.#pieces
    const heard = this.#heard
    this.#heard = null
    this.#reset()
    const { socket } = this
    socket.off('data', this.#onData).off('close', this.#onClose)
    const { method, signal } = exchange.sent
    const onOver = (idleMs: number | null): void => {
      socket.on('data', this.#onData).on('close', this.#onClose)
      if (idleMs !== null) this.#free(idleMs)
      else if (socket.closed) this.#onClose()
    }
    const answer = handedAnswer({ socket, pieces, method, signal: signalOf(signal), onOver })
    exchange.resolve(answer.finally(() => heard?.()))
  }

  #free(idleMs: number): void {
    this.idleUntilMs = this.#options.clock.monotonicMs() + idleMs
    if (this.socket.destroyed) return
    this.#options.onFree(this)
  }

  #reset(): void {
    this.#exchange = null
    this.#head = null
    this.#pieces = []
    this.#length = 0
  }

  #overAsked(): void {
    this.#heard?.()
    this.#heard = null
  }

  readonly #onClose = (): void => {
    this.#overAsked()
    const exchange = this.#exchange
    if (exchange !== null && this.#head !== null && !exchange.sent.signal.aborted) {
      // Node's client has words for an answer that breaks off.
      this.#hand(exchange)
      return
    }
    this.#exchange = null
    this.#options.onGone(this)
    if (exchange === null) return
    const error = this.socket.errored ?? closed()
    exchange.fail(this.#isOpen ? error : notSent(error))
  }
}

function closed(): Error {
  return Object.assign(new Error('the server closed the connection'), { code: 'ECONNRESET' })
}

function nothing(): void {}
