/** A WebSocket as a carrier of binary messages both ways, for a server that took one and for an agent that opened one. */
import type { WebSocket } from 'ws'
import type { Clock, Timer } from '../lib/clock.ts'
import type { MessageHandlers, MessageSocket } from '../rpc/uplink-channels.ts'

/** What may wait for the other side before senders are told to wait. */
const waitingBytesMax = 1024 * 1024
/** A side that takes nothing for so long while there is too much to take is given up. */
const stallMs = 30_000
/** How long the goodbye may take. */
const closeMs = 1_000
const reasonBytesMax = 123

const closeCodes = { ended: 1000, notBinary: 1003 } as const

export class WebSocketMessages implements MessageSocket {
  readonly #websocket: WebSocket
  readonly #clock: Clock
  #handlers: MessageHandlers | null = null
  #waitingBytes = 0
  #stall: Timer | null = null

  constructor(websocket: WebSocket, clock: Clock) {
    this.#websocket = websocket
    this.#clock = clock
  }

  /** In the turn in which the WebSocket opened: what comes before is lost. */
  start(handlers: MessageHandlers): void {
    this.#handlers = handlers
    const websocket = this.#websocket
    websocket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) handlers.onMessage(data)
      else websocket.close(closeCodes.notBinary)
    })
    let failure = ''
    // 'close' follows.
    websocket.on('error', (error: Error) => {
      failure = error.message
    })
    websocket.once('close', (code: number, reason: Buffer) => {
      this.#stall?.cancel()
      const said = reason.toString('utf8')
      handlers.onClose(said === '' ? failure || `the connection ended (${code})` : said)
    })
  }

  send(message: Uint8Array): boolean {
    this.#waitingBytes += message.length
    this.#websocket.send(message, { binary: true }, () => this.#sent(message.length))
    if (this.#waitingBytes < waitingBytesMax) return true
    this.#stall ??= this.#clock.setTimer(stallMs, () => this.#websocket.terminate())
    return false
  }

  close(reason: string, onGone?: () => void): void {
    const websocket = this.#websocket
    websocket.close(closeCodes.ended, closeReason(reason))
    const timer = this.#clock.setTimer(closeMs, () => websocket.terminate())
    websocket.once('close', () => {
      timer.cancel()
      onGone?.()
    })
  }

  pause(): void {
    this.#websocket.pause()
  }

  resume(): void {
    this.#websocket.resume()
  }

  #sent(bytes: number): void {
    const wasFull = this.#waitingBytes >= waitingBytesMax
    this.#waitingBytes -= bytes
    if (!wasFull || this.#waitingBytes >= waitingBytesMax) return
    this.#stall?.cancel()
    this.#stall = null
    this.#handlers?.onDrain()
  }
}

/** The protocol has no longer ones. */
export function closeReason(reason: string): string {
  let text = reason
  while (Buffer.byteLength(text) > reasonBytesMax) text = text.slice(0, -1)
  return text
}
