/**
 * The connections of all listeners: how many one address may have, how many requests one connection may have under way,
 * and what a connection that speaks no HTTP is told.
 */
import type { Server } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

export type ConnectionLimits = {
  /** Beyond it a new connection is closed without an answer. */
  readonly connectionsPerAddressMax: number
  /** Pipelined requests of one connection that are not answered yet. */
  readonly pipelinedMax: number
}

type Connection = { requests: number }

export class Connections {
  readonly #limits: ConnectionLimits
  readonly #countByAddress = new Map<string, number>()
  readonly #connections = new WeakMap<object, Connection>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#accept(socket))
    server.on('secureConnection', (socket: Socket) => {
      this.#connections.set(socket, { requests: 0 })
    })
    server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
      this.#refuse(error, socket)
    })
  }

  /** False: this connection has too much under way. Otherwise `leave` follows. */
  enter(socket: object): boolean {
    const connection = this.#connections.get(socket)
    if (connection === undefined) return true
    if (connection.requests >= this.#limits.pipelinedMax) return false
    connection.requests += 1
    return true
  }

  leave(socket: object): void {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) connection.requests -= 1
  }

  #accept(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    const count = (this.#countByAddress.get(address) ?? 0) + 1
    if (count > this.#limits.connectionsPerAddressMax) {
      socket.destroy()
      return
    }
    this.#countByAddress.set(address, count)
    this.#connections.set(socket, { requests: 0 })
    socket.once('close', () => {
      const left = (this.#countByAddress.get(address) ?? 1) - 1
      if (left === 0) this.#countByAddress.delete(address)
      else this.#countByAddress.set(address, left)
    })
  }

  /** An answer now would be taken for the one that an earlier request still waits for: then the connection just ends. */
  #refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
    const busy = (this.#connections.get(socket)?.requests ?? 0) > 0
    if (error.code === 'ECONNRESET' || !socket.writable || busy) {
      socket.destroy()
      return
    }
    const [status, text] = refusalOf(error.code)
    socket.end(
      `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n` +
        `Content-Length: ${text.length}\r\n\r\n${text}`,
      // The client may go on sending: nobody reads it any more.
      () => socket.destroy(),
    )
  }
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
