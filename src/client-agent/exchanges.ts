/**
 * Requests of this agent to one server that are sent whole, one at a time on each of the connections kept for that.
 *
 * Node's client makes everything anew for each request: objects for request and answer, their streams and listeners, a socket's
 * way in and out of its agent. That is three times what such a request takes here.
 */
import { ChurnMap } from '../lib/churn-map.ts'
import type { AbortSource } from '../lib/lazy-abort.ts'
import { Exchange, type Answered } from './exchange.ts'
import { Connection, type ConnectionOptions } from './exchange-connection.ts'
import { NotSent, notSent } from './not-sent.ts'

/** Connections to one server; requests beyond wait for one of them. */
const connectionsMax = 3_584
/** Connections that are kept unused. A server closes those that stay so: after 75 s, unless it says another time. */
const idleMax = 512

export type ExchangesOptions = Omit<ConnectionOptions, 'onFree' | 'onGone'> & {
  readonly connectionsMax?: number
}

export class Exchanges {
  readonly #options: ConnectionOptions
  readonly #connectionsMax: number
  readonly #all = new Set<Connection>()
  /** The one that was used last is the last. */
  readonly #idle: Connection[] = []
  /** By a number that counts them. */
  readonly #waiting = new ChurnMap<number, Exchange>()
  #waited = 0
  #isStopped = false

  constructor(options: ExchangesOptions) {
    this.#connectionsMax = options.connectionsMax ?? connectionsMax
    this.#options = {
      ...options,
      onFree: (connection) => this.#free(connection),
      onGone: (connection) => this.#gone(connection),
    }
  }

  /** Breaks what is open. */
  stop(): void {
    this.#isStopped = true
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.fail(dropped())
    for (const connection of this.#all) connection.socket.destroy()
  }

  /**
   * `text`: the request as it goes over the wire, a character for each byte. Resolves with the answer, or with its head where it
   * is another than a short plain one. Rejects with `NotSent` when nothing has reached the server.
   */
  ask(method: string, text: string, signal: AbortSource): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange({ method, text, signal }, resolve, reject)
      if (signal.aborted) exchange.fail(unwanted())
      else this.#begin(exchange)
    })
  }

  #begin(exchange: Exchange): void {
    if (this.#isStopped) {
      exchange.fail(dropped())
      return
    }
    const connection = this.#kept()
    if (connection !== null) connection.begin(exchange)
    else if (this.#all.size < this.#connectionsMax) this.#connect(exchange)
    else this.#wait(exchange)
  }

  #kept(): Connection | null {
    const nowMs = this.#options.clock.monotonicMs()
    for (;;) {
      const connection = this.#idle.pop()
      if (connection === undefined) return null
      if (nowMs < connection.idleUntilMs && connection.socket.writable) return connection
      connection.socket.destroy()
    }
  }

  #connect(exchange: Exchange): void {
    try {
      const connection = new Connection(this.#options, exchange)
      this.#all.add(connection)
    } catch (error) {
      exchange.fail(error instanceof Error ? notSent(error) : new NotSent(String(error)))
    }
  }

  #wait(exchange: Exchange): void {
    this.#waited += 1
    const number = this.#waited
    this.#waiting.set(number, exchange)
    exchange.onAbort = () => {
      this.#waiting.take(number)
      exchange.fail(unwanted())
    }
  }

  /** Of those that wait: the one that has waited longest, which waits no more. */
  #next(): Exchange | undefined {
    if (this.#waiting.size === 0) return undefined
    for (const [number] of this.#waiting.entries()) return this.#waiting.take(number)
    return undefined
  }

  #free(connection: Connection): void {
    const next = this.#next()
    if (next !== undefined) {
      connection.begin(next)
    } else if (this.#idle.length < idleMax && !this.#isStopped) {
      this.#idle.push(connection)
    } else {
      connection.socket.destroy()
    }
  }

  #gone(connection: Connection): void {
    this.#all.delete(connection)
    const at = this.#idle.indexOf(connection)
    if (at >= 0) this.#idle.splice(at, 1)
    const next = this.#next()
    if (next !== undefined) this.#begin(next)
  }
}

function dropped(): NotSent {
  return new NotSent('the server is not asked any more')
}

function unwanted(): NotSent {
  return new NotSent('nobody waits for the answer any more')
}
