/**
 * WebSockets: a route's stream, chunk by chunk as messages. A request that asks for one goes the usual way through
 * routing, limits and the route itself; only a reply with a stream takes the connection over, so that a refusal is
 * an ordinary HTTP answer with a status and a text.
 */
import { type IncomingMessage, ServerResponse } from '../lib/http.ts'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { assert } from '../lib/assert.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { announcesBody } from './body.ts'
import { requestIdHeader } from './request-id.ts'

/** Clients have nothing to say but control frames: what they send all the same is dropped, and more ends the connection. */
const messageBytesMax = 4_096
/** A piece, however short, keeps the whole read that it came with in memory until its message is complete. */
const messageFragmentsMax = 16
const frameReadsMax = 64
/** A client that does not answer one ping before the next is gone. */
const pingMs = 20_000
/** Messages, pings and pongs of one client between two of our pings. */
const heardMax = 1_000
/** How long the goodbye may take. */
const closeMs = 1_000

const closeCodes = { ended: 1000, tooTalkative: 1008, failed: 1011 } as const

export type UpgradedRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
}

type Upgrade = { readonly socket: Duplex; readonly head: Buffer }

export class WebSockets {
  readonly #clock: Clock
  readonly #stallMs: number
  readonly #acceptor = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: messageBytesMax,
    maxFragments: messageFragmentsMax,
    maxBufferedChunks: frameReadsMax,
    closeTimeout: closeMs,
    perMessageDeflate: false,
  })
  /** Requests that ask for a WebSocket and have not been answered. */
  readonly #upgrades = new WeakMap<IncomingMessage, Upgrade>()
  /** Ids of requests whose handshake is under way. */
  readonly #ids = new WeakMap<IncomingMessage, string>()
  readonly #open = new Set<WebSocket>()

  /** A client that takes nothing for `stallMs` while there is something to take is dropped. */
  constructor(clock: Clock, stallMs: number) {
    this.#clock = clock
    this.#stallMs = stallMs
    this.#acceptor.on('headers', (headers, request) => {
      const id = this.#ids.get(request)
      if (id !== undefined) headers.push(`${requestIdHeader}: ${id}`)
    })
  }

  /** The response for a request whose connection Node has given away; it still can be an ordinary one. */
  prepare(request: IncomingMessage, socket: Duplex, head: Buffer): ServerResponse {
    this.#upgrades.set(request, { socket, head })
    // Between here and the upgrade nobody else listens, and a reset must not end the process.
    socket.on('error', () => socket.destroy())
    const response = new ServerResponse(request)
    response.shouldKeepAlive = false
    response.assignSocket(socket as never)
    // The client may keep its side open: nobody reads it any more.
    response.on('finish', () => socket.end(() => socket.destroy()))
    return response
  }

  wants(request: IncomingMessage): boolean {
    return this.#upgrades.has(request)
  }

  /**
   * Takes the connection over and sends to the source's end. Resolves when all is over, the source too, with the status
   * that the request was answered with; 0: its client went away before.
   */
  async send(
    { request, response, requestId }: UpgradedRequest,
    source: AsyncIterable<Uint8Array | string>,
    onGone: () => void,
  ): Promise<number> {
    const items = source[Symbol.asyncIterator]()
    const upgrade = this.#upgrades.get(request)
    assert(upgrade !== undefined, 'only a request that asked for a WebSocket gets one')
    this.#upgrades.delete(request)
    this.#ids.set(request, requestId)
    response.detachSocket(upgrade.socket as never)
    const websocket = await this.#accept(request, upgrade)
    if (websocket === null) {
      onGone()
      await items.return?.()
      return upgrade.socket.writableEnded ? 400 : 0
    }
    const closed = this.#watch(websocket, onGone)
    let code: number = closeCodes.ended
    try {
      for (;;) {
        const item = await items.next()
        if (item.done === true || !(await this.#sendOne(websocket, item.value))) break
      }
    } catch {
      code = closeCodes.failed
    } finally {
      websocket.close(code)
      const timer = this.#clock.setTimer(closeMs, () => websocket.terminate())
      await items.return?.()
      await closed
      timer.cancel()
    }
    return 101
  }

  /** Breaks what is left. */
  stop(): void {
    for (const websocket of this.#open) websocket.terminate()
  }

  /** Null when the connection ended, or the handshake was none and has been answered. */
  #accept(request: IncomingMessage, { socket, head }: Upgrade): Promise<WebSocket | null> {
    return new Promise((resolve) => {
      const gone = (): void => resolve(null)
      socket.once('close', gone)
      if (socket.destroyed) {
        gone()
        return
      }
      this.#acceptor.handleUpgrade(request, socket, head, (websocket) => {
        socket.off('close', gone)
        resolve(websocket)
      })
    })
  }

  /** Resolves once the WebSocket is closed. */
  #watch(websocket: WebSocket, onGone: () => void): Promise<void> {
    this.#open.add(websocket)
    let answered = true
    let heard = 0
    let timer: Timer
    const ping = (): void => {
      if (!answered) {
        websocket.terminate()
        return
      }
      answered = false
      heard = 0
      websocket.ping()
      timer = this.#clock.setTimer(pingMs, ping)
    }
    timer = this.#clock.setTimer(pingMs, ping)
    const hear = (): void => {
      heard += 1
      if (heard > heardMax) websocket.close(closeCodes.tooTalkative)
    }
    websocket.on('message', hear)
    websocket.on('ping', hear)
    websocket.on('pong', () => {
      answered = true
      hear()
    })
    // 'close' follows.
    websocket.on('error', () => {})
    return new Promise((resolve) => {
      websocket.once('close', () => {
        timer.cancel()
        this.#open.delete(websocket)
        onGone()
        resolve()
      })
    })
  }

  /** False when the message can never leave. One at a time, so that the client's pace is the source's. */
  #sendOne(websocket: WebSocket, data: Uint8Array | string): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(this.#stallMs, () => websocket.terminate())
      websocket.send(data, { binary: typeof data !== 'string' }, (error) => {
        timer.cancel()
        resolve(error === undefined || error === null)
      })
    })
  }
}

/** Whether a request asks for a WebSocket; other protocols are not offered, and such requests go on as HTTP. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  const { method, headers } = request
  return (
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !announcesBody(request)
  )
}
