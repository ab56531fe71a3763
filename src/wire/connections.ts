/**
 * The inbound connections of the RPC port, and the bound on those without an owner: they stay open without
 * a stream, or send frames that never end. Above the bound the oldest or the worst of them is closed, so that a server that
 * connects later still gets through.
 */
import type { Socket } from 'node:net'
import { within } from '../lib/async.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { connectionsMax, strangersMax, unreadBytesMax } from './channel-options.ts'

export type Connection = {
  readonly socket: Socket
  /** Accepted: it passed the handshake. */
  streams: number
  widened: boolean
  /** What is said to each of its streams instead of accepting it; null: they are welcome. */
  refusal: string | null
  /** Bytes that had come when its last frame was whole. */
  readBytes: number
  /** And at the last look. */
  seenBytes: number
  /** Told at a look when more of a frame has come. */
  onArriving: (() => void) | null
  /** Ends it while no accepted stream is on it. */
  idle: Timer | null
}

/** A connection without a stream that passed the handshake is closed after this. */
const idleConnectionMs = 10_000
const sweepMs = 100
/** While all connections have passed the handshake. */
const knownSweepMs = 300
/** Less of HTTP/2 than this comes without a frame, too. */
const arrivingBytesMin = 1_024

export type ConnectionLimits = {
  readonly connectionsMax: number
  readonly strangersMax: number
  readonly unreadBytesMax: number
}

export const connectionLimits: ConnectionLimits = { connectionsMax, strangersMax, unreadBytesMax }

export class InboundConnections {
  readonly #clock: Clock
  readonly #limits: ConnectionLimits
  readonly #byKey = new Map<string, Connection>()
  /** Those without an accepted stream, the oldest first. */
  readonly #strangers = new Set<Connection>()
  #sweep: Timer | null = null
  #sweepMs = 0
  #onEmpty: () => void = () => {}

  constructor(clock: Clock, limits: ConnectionLimits) {
    this.#clock = clock
    this.#limits = limits
  }

  get size(): number {
    return this.#byKey.size
  }

  get strangers(): number {
    return this.#strangers.size
  }

  add(key: string, socket: Socket): void {
    const connection: Connection = {
      socket,
      streams: 0,
      widened: false,
      refusal: null,
      readBytes: 0,
      seenBytes: 0,
      onArriving: null,
      idle: null,
    }
    this.#byKey.set(key, connection)
    this.#isStranger(connection)
    socket.once('close', () => {
      connection.idle?.cancel()
      this.#strangers.delete(connection)
      if (this.#byKey.get(key) === connection) this.#byKey.delete(key)
      if (this.#byKey.size === 0) this.#onEmpty()
    })
  }

  get(key: string): Connection | undefined {
    return this.#byKey.get(key)
  }

  /** A stream of it passed the handshake; `ended` follows. */
  accepted(connection: Connection): void {
    connection.streams += 1
    connection.idle?.cancel()
    this.#strangers.delete(connection)
  }

  ended(connection: Connection): void {
    connection.streams -= 1
    if (connection.streams === 0) this.#isStranger(connection)
  }

  /** A whole frame came. */
  read(connection: Connection): void {
    connection.readBytes = connection.socket.bytesRead
  }

  /** Resolves when none is left, or when they have had their time. */
  async drained(graceMs: number): Promise<void> {
    if (this.#byKey.size === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onEmpty = resolve
    await within(promise, this.#clock, graceMs)
  }

  destroyAll(): void {
    this.#sweep?.cancel()
    for (const { socket } of this.#byKey.values()) socket.destroy()
  }

  #isStranger(connection: Connection): void {
    const { socket } = connection
    connection.idle?.cancel()
    if (socket.destroyed) return
    connection.idle = this.#clock.setTimer(idleConnectionMs, () => socket.destroy())
    this.#strangers.add(connection)
    this.#watchUnread()
    if (this.#strangers.size <= this.#limits.strangersMax) return
    for (const oldest of this.#strangers) {
      // Its 'close' comes later, and the next one must find another.
      this.#strangers.delete(oldest)
      oldest.socket.destroy()
      return
    }
  }

  /** gRPC gathers a frame out of our sight; how much it holds is seen from what came since the last whole one. */
  #watchUnread(): void {
    const everyMs = this.#strangers.size > 0 ? sweepMs : knownSweepMs
    if (this.#sweep !== null && this.#sweepMs <= everyMs) return
    this.#sweep?.cancel()
    this.#sweepMs = everyMs
    this.#sweep = this.#clock.setTimer(everyMs, () => {
      this.#sweep = null
      let bytes = 0
      let most: Connection | null = null
      for (const connection of this.#byKey.values()) {
        bytes += unreadOf(connection)
        look(connection)
        if (most === null || unreadOf(connection) > unreadOf(most)) most = connection
      }
      if (bytes > this.#limits.unreadBytesMax) most?.socket.destroy()
      if (this.#byKey.size > 0) this.#watchUnread()
    })
  }
}

function look(connection: Connection): void {
  const { socket, readBytes, seenBytes, onArriving } = connection
  connection.seenBytes = socket.bytesRead
  if (socket.bytesRead - Math.max(readBytes, seenBytes) >= arrivingBytesMin) onArriving?.()
}

function unreadOf({ socket, readBytes }: Connection): number {
  return socket.bytesRead - readBytes
}
