/**
 * The connections of all listeners: how many one client may have, how many requests one connection may have under way,
 * and what a connection that speaks no HTTP is told.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'
import { addressOf, clientOf } from '../lib/client-address.ts'
import type { Clock } from '../lib/clock.ts'
import { refuseExpectations } from './expectations.ts'
import { endWhatWaits, type Answering } from './half-closed.ts'
import { ListMethod } from './list-method.ts'

export type ConnectionLimits = {
  /** Beyond it a new connection is told so and closed; over TLS it is closed before the handshake. */
  readonly connectionsPerClientMax: number
  /** Pipelined requests of one connection that are not answered yet. */
  readonly pipelinedMax: number
}

/** A request's place in the line of its connection. */
export type Place = Answering & {
  readonly connection: Connection | null
  /** Set while it waits for those before it. */
  call: (() => void) | null
}

type Connection = {
  /** Of requests that are under way the one that is served. Most connections have no other. */
  first: Place | null
  /** Those that were pipelined behind it and wait; null: never any. */
  behind: Place[] | null
  /** Who sends them, found once for each connection. */
  readonly client: string
  /** No request is served any more: there are too many connections of this client, or bytes of this one were lost. */
  surplus: boolean
  /** Its client says nothing more, and may read still; null while it does. */
  ended: Socket | null
  /** The last answer while it is not out. */
  last: ServerResponse | null
}

export class Connections {
  /** Of requests that came by any of them. */
  readonly lists = new ListMethod()
  #limits: ConnectionLimits
  readonly #clock: Clock
  readonly #countByClient = new Map<string, number>()
  #refusedCount = 0
  readonly #connections = new WeakMap<object, Connection>()

  constructor(limits: ConnectionLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** Connections that were closed because their client had too many. */
  get refusedCount(): number {
    return this.#refusedCount
  }

  /** From now on; connections that exist go on. */
  configure(limits: Partial<ConnectionLimits>): void {
    this.#limits = { ...this.#limits, ...limits }
  }

  watch(server: Server): void {
    const plain = !('setSecureContext' in server)
    server.on('connection', (socket: Socket) => this.#accept(socket, plain))
    server.on('secureConnection', (socket: Socket) => {
      const client = clientOf(addressOf(socket.remoteAddress))
      this.#watch(socket, connectionOf(client))
    })
    // Node answers these without a word to anybody else.
    server.on('checkExpectation', (request: IncomingMessage, response: ServerResponse) => {
      this.take(request.socket, response)
      this.lists.takes(request.socket)
    })
    refuseExpectations(server)
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
      if (!this.lists.resume(server, error, socket)) this.#refuse(error, socket)
    })
  }

  /** Whose connection it is; null for one that came in no listener. */
  clientOf(socket: object): string | null {
    return this.#connections.get(socket)?.client ?? null
  }

  /** Of every request: the connection belongs to its answer, after those of earlier ones, until `free`. */
  take(socket: object, response: ServerResponse): void {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) connection.last = response
  }

  free(socket: object, response: ServerResponse): void {
    const connection = this.#connections.get(socket)
    if (connection?.last === response) connection.last = null
  }

  /** Whether all requests of this connection were answered to the last byte. */
  isFree(socket: object): boolean {
    return (this.#connections.get(socket)?.last ?? null) === null
  }

  /** Null: this connection has too much under way, or is over. Otherwise `leave` follows. */
  enter(socket: object, exchange: Answering['exchange']): Place | null {
    const connection = this.#connections.get(socket) ?? null
    const place: Place = { connection, exchange, streams: false, ending: null, call: null }
    if (connection === null) return place
    if (connection.surplus) return null
    if (connection.first === null) {
      connection.first = place
      return place
    }
    connection.behind ??= []
    if (connection.behind.length + 1 >= this.#limits.pipelinedMax) return null
    connection.behind.push(place)
    return place
  }

  /**
   * Resolves once all requests before it on this connection are over; null when there are none. One after another is
   * what HTTP wants of those that change something (RFC 9112, 9.3.2), and a read then sees the write it came behind.
   */
  turn(place: Place): Promise<void> | null {
    if (place.connection === null || place.connection.first === place) return null
    return new Promise((resolve) => {
      place.call = resolve
    })
  }

  leave(place: Place): void {
    const { connection } = place
    place.ending?.cancel()
    if (connection === null) return
    if (connection.first === place) {
      connection.first = connection.behind?.shift() ?? null
      connection.first?.call?.()
      this.#serves(connection)
    } else {
      connection.behind?.splice(connection.behind.indexOf(place), 1)
    }
  }

  #accept(socket: Socket, plain: boolean): void {
    const client = clientOf(addressOf(socket.remoteAddress))
    const count = (this.#countByClient.get(client) ?? 0) + 1
    if (count > this.#limits.connectionsPerClientMax) {
      this.#refuseOneMore(socket, client, plain)
      return
    }
    this.#countByClient.set(client, count)
    if (plain) this.#watch(socket, connectionOf(client))
    // Not `once`, whose wrapper each of many thousand connections would keep: it comes once.
    socket.on('close', () => {
      const left = (this.#countByClient.get(client) ?? 1) - 1
      if (left === 0) this.#countByClient.delete(client)
      else this.#countByClient.set(client, left)
    })
  }

  #watch(socket: Socket, connection: Connection): void {
    this.#connections.set(socket, connection)
    this.lists.watch(socket, () => this.#lost(socket))
    socket.on('end', () => {
      connection.ended = socket
      this.#serves(connection)
    })
  }

  #serves({ first, ended }: Connection): void {
    if (first !== null && ended !== null) {
      first.ending = endWhatWaits(ended, first, this.#clock)
    }
  }

  /** The requests that came before are answered, and those that seem to come after are not. */
  #lost(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    connection.surplus = true
    const { last } = connection
    if (last === null) socket.end()
    else last.once('close', () => socket.end())
  }

  #refuseOneMore(socket: Socket, client: string, plain: boolean): void {
    this.#refusedCount += 1
    if (!plain) {
      socket.destroy()
      return
    }
    // A request may be on its way already: it finds the connection full, and is not run.
    this.#connections.set(socket, { ...connectionOf(client), surplus: true })
    const max = this.#limits.connectionsPerClientMax
    const text = `too many connections of ${client}: limits.http_max_conns_per_client is ${max}`
    end(socket, '429 Too Many Requests', text, 'Retry-After: 1\r\n')
  }

  /**
   * Where the body of the only request under way is broken, that one is answered. Else an answer now would be taken for the one that an
   * earlier request still waits for: then the connection just ends.
   */
  #refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    const connection = this.#connections.get(socket)
    const isBusy = (connection?.first ?? null) !== null
    const isAlone = (connection?.behind?.length ?? 0) === 0
    const last = connection?.last ?? null
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
    } else if (!isBusy) {
      const [status, text] = refusalOf(error.code)
      end(socket, status, text)
    } else if (isAlone && last !== null && !last.req.complete && !last.headersSent) {
      const type = 'text/plain; charset=utf-8'
      const length = String(brokenBody.length)
      const lines = ['Connection', 'close', 'Content-Type', type, 'Content-Length', length]
      // Its handler may wait for the rest of the body.
      last.writeHead(400, lines).end(brokenBody, () => last.req.destroy())
    } else {
      socket.destroy()
    }
  }
}

const brokenBody = 'the body of the request is not framed as HTTP/1.1 wants it'

function connectionOf(client: string): Connection {
  return { first: null, behind: null, client, surplus: false, ended: null, last: null }
}

function end(socket: Duplex, status: string, text: string, headers = ''): void {
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n${headers}` +
      `Content-Length: ${text.length}\r\n\r\n${text}`,
    // The client may go on sending: nobody reads it any more.
    () => socket.destroy(),
  )
}

function refusalOf(code: string | undefined): readonly [status: string, text: string] {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return ['431 Request Header Fields Too Large', 'the request head is too large']
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return ['408 Request Timeout', 'the request head did not arrive in time']
  }
  return ['400 Bad Request', 'this is not an HTTP/1.1 request']
}
