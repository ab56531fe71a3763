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
import { MusterError } from '../lib/errors.ts'
import { messageBytesMax as carriedBytesMax, type MessageSocket } from '../rpc/uplink-channels.ts'
import { announcesBody } from './body.ts'
import { closeReason, WebSocketMessages } from './message-socket.ts'
import { requestIdHeader } from './request-id.ts'
import type { ApiReply, Conversation } from './route.ts'

/** Of a client that has something to say. */
const talkBytesMax = 256 * 1_024
/** Messages that wait to be heard. Beyond that the connection is not read. */
const waitingMax = 16

/** To those of `#send` clients have nothing to say but control frames: what they send all the same is dropped, and more ends the connection. */
const messageBytesMax = 4_096
/** A piece, however short, keeps the whole read that it came with in memory until its message is complete. */
const messageFragmentsMax = 16
const frameReadsMax = 64
/** A client that does not answer one ping before the next is gone. */
const pingMs = 20_000
/** Messages, pings and pongs of one client between two of our pings. */
const heardMax = 1_000
/** Of a message that a client may send: a slow network cuts it into many reads. */
const carriedReadsMax = 1_024
/** How long the goodbye may take. */
const closeMs = 1_000

const closeCodes = { ended: 1000, leaving: 1001, tooTalkative: 1008, failed: 1011 } as const

export type UpgradedRequest = {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly requestId: string
  /** What the client is told went wrong. */
  refusal: string | null
}

/** Of a reply. */
type Upgradable = Pick<ApiReply, 'stream' | 'carry' | 'converse'>

type Upgrade = { readonly socket: Duplex; readonly head: Buffer }

export class WebSockets {
  readonly #clock: Clock
  readonly #stallMs: number
  readonly #acceptor = acceptorOf({ bytesMax: messageBytesMax, readsMax: frameReadsMax })
  /** For clients that have as much to say as the server. */
  readonly #carriers = acceptorOf({ bytesMax: carriedBytesMax, readsMax: carriedReadsMax })
  /** For clients that say something now and then. */
  readonly #talkers = acceptorOf({ bytesMax: talkBytesMax, readsMax: carriedReadsMax })
  /** Requests that ask for a WebSocket and have not been answered. */
  readonly #upgrades = new WeakMap<IncomingMessage, Upgrade>()
  /** Ids of requests whose handshake is under way. */
  readonly #ids = new WeakMap<IncomingMessage, string>()
  readonly #open = new Set<WebSocket>()
  /** Of `#carry`. */
  readonly #carried = new Set<WebSocket>()

  /** A client that takes nothing for `stallMs` while there is something to take is dropped. */
  constructor(clock: Clock, stallMs: number) {
    this.#clock = clock
    this.#stallMs = stallMs
    for (const acceptor of [this.#acceptor, this.#carriers, this.#talkers]) {
      acceptor.on('headers', (headers, request) => {
        const id = this.#ids.get(request)
        if (id !== undefined) headers.push(`${requestIdHeader}: ${id}`)
      })
    }
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

  /** Whether a WebSocket is asked for, and the reply is one. */
  takes(request: IncomingMessage, { stream, carry, converse }: Upgradable): boolean {
    const isOne = stream !== undefined || carry !== undefined || converse !== undefined
    return isOne && this.wants(request)
  }

  /** Resolves with the status that the request was answered with; 0: its client went away before. */
  answer(upgraded: UpgradedRequest, reply: Upgradable, onGone: () => void): Promise<number> {
    const { stream, carry, converse } = reply
    if (carry !== undefined) return this.#carry(upgraded, carry)
    if (converse !== undefined) return this.#converse(upgraded, converse, onGone)
    assert(stream !== undefined, 'only a stream becomes a WebSocket')
    return this.#send(upgraded, stream, onGone)
  }

  /**
   * Takes the connection over and sends to the source's end. Resolves when all is over, the source too, with the status
   * that the request was answered with; 0: its client went away before.
   */
  async #send(
    upgraded: UpgradedRequest,
    source: AsyncIterable<Uint8Array | string>,
    onGone: () => void,
  ): Promise<number> {
    const items = source[Symbol.asyncIterator]()
    const { websocket, status } = await this.#take(upgraded, this.#acceptor, () => {})
    if (websocket === null) {
      onGone()
      await items.return?.()
      return status
    }
    const closed = this.#watch(websocket, onGone, null)
    await this.#sendAll(websocket, items, closed, upgraded)
    return 101
  }

  /** As `#send`, of what is said to what the client says. */
  async #converse(
    upgraded: UpgradedRequest,
    converse: Conversation,
    onGone: () => void,
  ): Promise<number> {
    const by: { heard: Heard | null } = { heard: null }
    const { websocket, status } = await this.#take(upgraded, this.#talkers, (opened) => {
      by.heard = new Heard(opened)
    })
    const { heard } = by
    // Whoever opened what is talked with hears that the request is over.
    if (websocket === null || heard === null) {
      onGone()
      return status
    }
    const closed = this.#watch(websocket, onGone, heard)
    const items = converse(heard)[Symbol.asyncIterator]()
    await this.#sendAll(websocket, items, closed, upgraded)
    return 101
  }

  async #sendAll(
    websocket: WebSocket,
    items: AsyncIterator<Uint8Array | string>,
    closed: Promise<void>,
    upgraded: UpgradedRequest,
  ): Promise<void> {
    let code: number = closeCodes.ended
    let reason = ''
    try {
      for (;;) {
        const item = await items.next()
        if (item.done === true || !(await this.#sendOne(websocket, item.value))) break
      }
    } catch (error) {
      code = closeCodes.failed
      if (error instanceof MusterError) {
        reason = closeReason(error.message)
        upgraded.refusal = error.message
      }
    } finally {
      websocket.close(code, reason)
      const timer = this.#clock.setTimer(closeMs, () => websocket.terminate())
      await items.return?.()
      await closed
      timer.cancel()
    }
  }

  /**
   * Takes the connection over and hands it on, with nothing but WebSocket's own rules on what the client says. Resolves with the
   * status that the request was answered with, as `#send` does, once that is done; the connection goes on.
   */
  async #carry(upgraded: UpgradedRequest, open: (socket: MessageSocket) => void): Promise<number> {
    const { status } = await this.#take(upgraded, this.#carriers, (websocket) => {
      this.#carried.add(websocket)
      websocket.once('close', () => this.#carried.delete(websocket))
      open(new WebSocketMessages(websocket, this.#clock))
    })
    return status
  }

  /** Tells those of `#carry` that this server stops. */
  leave(): void {
    for (const websocket of this.#carried) websocket.close(closeCodes.leaving, 'the server stops')
  }

  /** Breaks what is left. */
  stop(): void {
    for (const websocket of this.#carried) websocket.terminate()
    for (const websocket of this.#open) websocket.terminate()
  }

  /** `opened` is called in the very turn, before the client can have said anything. */
  async #take(
    { request, response, requestId }: UpgradedRequest,
    acceptor: WebSocketServer,
    opened: (websocket: WebSocket) => void,
  ): Promise<{ readonly websocket: WebSocket | null; readonly status: number }> {
    const upgrade = this.#upgrades.get(request)
    assert(upgrade !== undefined, 'only a request that asked for a WebSocket gets one')
    this.#upgrades.delete(request)
    this.#ids.set(request, requestId)
    response.detachSocket(upgrade.socket as never)
    const websocket = await this.#accept(acceptor, request, upgrade, opened)
    if (websocket !== null) return { websocket, status: 101 }
    return { websocket, status: upgrade.socket.writableEnded ? 400 : 0 }
  }

  /** Null when the connection ended, or the handshake was none and has been answered. */
  #accept(
    acceptor: WebSocketServer,
    request: IncomingMessage,
    { socket, head }: Upgrade,
    opened: (websocket: WebSocket) => void,
  ): Promise<WebSocket | null> {
    return new Promise((resolve) => {
      const gone = (): void => resolve(null)
      socket.once('close', gone)
      if (socket.destroyed) {
        gone()
        return
      }
      acceptor.handleUpgrade(request, socket, head, (websocket) => {
        socket.off('close', gone)
        opened(websocket)
        resolve(websocket)
      })
    })
  }

  /** Resolves once the WebSocket is closed. `heard`: takes what the client says; null: it should say nothing. */
  #watch(websocket: WebSocket, onGone: () => void, heard: Heard | null): Promise<void> {
    this.#open.add(websocket)
    let answered = true
    let count = 0
    let timer: Timer
    const ping = (): void => {
      // What is not read may hold the answer.
      if (!answered && heard?.isPaused !== true) {
        websocket.terminate()
        return
      }
      answered = false
      count = 0
      websocket.ping()
      timer = this.#clock.setTimer(pingMs, ping)
    }
    timer = this.#clock.setTimer(pingMs, ping)
    const hear = (): void => {
      count += 1
      if (count > heardMax) websocket.close(closeCodes.tooTalkative)
    }
    if (heard === null) websocket.on('message', hear)
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
        heard?.end()
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

/** What a client says, until it goes away. What is not taken soon holds the client up. */
class Heard implements AsyncIterableIterator<string> {
  readonly #websocket: WebSocket
  readonly #messages: string[] = []
  #isPaused = false
  #isOver = false
  #news = Promise.withResolvers<void>()

  constructor(websocket: WebSocket) {
    this.#websocket = websocket
    websocket.on('message', (data: Buffer) => {
      this.#messages.push(data.toString('utf8'))
      if (this.#messages.length >= waitingMax) this.#pause(true)
      this.#news.resolve()
    })
  }

  get isPaused(): boolean {
    return this.#isPaused
  }

  end(): void {
    this.#isOver = true
    this.#news.resolve()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<string>> {
    for (;;) {
      const value = this.#messages.shift()
      if (value !== undefined) {
        this.#pause(false)
        return { done: false, value }
      }
      if (this.#isOver) return { done: true, value: undefined }
      this.#news = Promise.withResolvers()
      await this.#news.promise
    }
  }

  async return(): Promise<IteratorResult<string>> {
    this.#messages.length = 0
    this.#pause(false)
    this.end()
    return Promise.resolve({ done: true, value: undefined })
  }

  #pause(isPaused: boolean): void {
    if (this.#isPaused === isPaused) return
    this.#isPaused = isPaused
    if (isPaused) this.#websocket.pause()
    else this.#websocket.resume()
  }
}

/** Whether a request asks for a WebSocket; other protocols are not offered, and such requests go on as HTTP. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  const { method, headers } = request
  return (
    method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && !announcesBody(request)
  )
}

/** Of clients whose messages have at most so many bytes, which come in at most so many reads. */
function acceptorOf({ bytesMax, readsMax }: Readonly<Record<'bytesMax' | 'readsMax', number>>) {
  return new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: bytesMax,
    maxFragments: messageFragmentsMax,
    maxBufferedChunks: readsMax,
    closeTimeout: closeMs,
    perMessageDeflate: false,
  })
}
