/**
 * The uplink: one WebSocket that a client agent holds to a server, and calls both ways over it, as on the links between
 * servers: many at once, with deadlines and cancels, and streams with credit. Neither side asks anything by its address.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { fullBucket, takeToken, type TokenBucket } from '../lib/token-bucket.ts'
import { Refusals } from '../wire/refusals.ts'
import type { FrameStream } from '../wire/stream.ts'
import { LinkClient } from './link-client.ts'
import { decodePlainValue, decodeValue } from './link-codec.ts'
import { LinkLoad, loadLimits } from './link-load.ts'
import { LinkServerStream } from './link-server.ts'
import { readLinkStream } from './link-stream-client.ts'
import { ServedStream } from './link-stream-server.ts'
import type { CallHandler, CallRequest, StreamHandler } from './link.ts'
import { Channels, type ChannelKind, type MessageSocket } from './uplink-channels.ts'

const kib = 1024
const mib = 1024 * kib

/** What a side takes of the other. Servers trust no agent; agents do what servers ask. */
const limits = {
  /** At the agent. */
  agent: { frameBytesMax: { own: 8 * mib, other: 8 * mib }, runningMax: 256, streamsMax: 64 },
  server: { frameBytesMax: { own: 8 * mib, other: mib }, runningMax: 8, streamsMax: 4 },
} as const
/** An answer of an agent is no larger; a profile may be some megabytes. */
const resultBytesMax = 6 * mib
const argumentBytesMax = mib / 2
const callsMax = 256
const callBytesMax = 8 * mib
/** Of a side that asked nothing for so long, the channel is closed. */
const idleMs = 300_000
/** Messages that an agent may send of its own at once, and in each second. A frame of a megabyte is four. */
const messageRate = { perSecond: 128, burst: 1_024 }
/**
 * What comes on streams that the server asked for, in units: a message is one, and one more for each 32 KiB. How much may wait here
 * is bounded by the credit of each; this bounds the work that tiny messages make. An agent that is faster is read later.
 */
const askedRate = { perSecond: 4_096, burst: 4_096 }
const askedUnitBytes = 32 * kib

/** What all uplinks of a process share. */
export class UplinkHost {
  readonly clock: Clock
  readonly logger: Logger
  readonly refusals: Refusals
  readonly load = new LinkLoad(loadLimits)

  constructor(clock: Clock, logger: Logger) {
    this.clock = clock
    this.logger = logger
    this.refusals = new Refusals(clock, logger)
  }

  /** Logs why `peer` is refused, once a minute, and counts it. */
  refused(peer: string, error: unknown): void {
    this.refusals.addFrame(peer, error, 'the uplink is refused')
  }

  /** As `refused`, of what came over an uplink that stays. */
  misbehaved(peer: string, error: unknown): void {
    this.refusals.addFrame(peer, error, 'what the agent says is not taken')
  }

  get refusedCount(): number {
    return this.refusals.count('frame')
  }
}

export type UplinkOptions = {
  readonly host: UplinkHost
  readonly side: 'agent' | 'server'
  /** Who is at the other end, for logs. */
  readonly peer: string
  readonly onCall: CallHandler
  readonly onStream: StreamHandler
  readonly onClose: (reason: string) => void
}

export class Uplink {
  readonly #options: UplinkOptions
  readonly #channels: Channels
  readonly #budget: Budget | null
  readonly #pace: Pace | null
  #link: LinkClient | null = null
  #served: LinkServerStream | null = null
  #streams = 0
  /** Of what the other side answers. */
  readonly #decode: (bytes: Uint8Array) => unknown

  constructor(socket: MessageSocket, options: UplinkOptions) {
    const { side, peer, host } = options
    this.#options = options
    this.#decode = side === 'server' ? decodePlainValue : decodeValue
    this.#budget = side === 'server' ? new Budget(host.clock) : null
    this.#pace = side === 'server' ? new Pace(host.clock, socket) : null
    this.#channels = new Channels(socket, {
      side,
      peer,
      frameBytesMax: limits[side].frameBytesMax,
      channelsMax: limits[side].streamsMax + 1,
      admit: () => this.#budget?.spend(),
      onAsked: (bytes) => this.#pace?.took(bytes),
      onChannel: (kind, stream) => this.#serve(kind, stream),
      onBroken: (error) => host.refusals.addFrame(peer, error),
      onClose: (reason) => {
        this.#pace?.end()
        this.#link?.close(reason)
        options.onClose(reason)
      },
    })
  }

  get open(): boolean {
    return this.#channels.open
  }

  /** As `PeerLink.call`. */
  call(request: CallRequest, signal?: AbortSignal): Promise<unknown> {
    if (!this.open) return Promise.reject(gone())
    this.#link ??= this.#newLink()
    return this.#link.call(request, signal)
  }

  /** As `StreamLink.stream`. */
  stream(request: CallRequest, signal: AbortSignal): Promise<AsyncIterableIterator<unknown>> {
    if (!this.open) return Promise.reject(gone())
    const { host, peer, side } = this.#options
    // The other side would take one more for a flood.
    const { streamsMax } = limits[side === 'agent' ? 'server' : 'agent']
    if (this.#channels.ownStreams >= streamsMax) {
      const text = `${streamsMax} streams with ${peer} are open, which is the most`
      return Promise.reject(new MusterError('overloaded', text))
    }
    const channel = this.#channels.openChannel('stream')
    return readLinkStream(host.clock, channel, { address: peer }, request, signal, this.#decode)
  }

  /** `onGone`: as of `MessageSocket`. */
  close(reason: string, onGone?: () => void): void {
    this.#channels.close(reason, onGone)
  }

  #newLink(): LinkClient {
    const { host, peer } = this.#options
    const { clock, refusals } = host
    const link = new LinkClient(
      { clock, refusals, dial: async () => this.#channels.openChannel('calls') },
      { address: peer, id: null },
      { callsMax, callBytesMax, idleMs, argumentBytesMax, decode: this.#decode },
      () => {
        if (this.#link === link) this.#link = null
      },
    )
    return link
  }

  #serve(kind: ChannelKind, stream: FrameStream): void {
    const { side, host, onCall, onStream } = this.#options
    const { runningMax, streamsMax } = limits[side]
    if (kind === 'stream') {
      if (this.#streams >= streamsMax) throw tooMany(`${streamsMax} streams`)
      this.#streams += 1
      new ServedStream(host, stream, onStream).start(() => (this.#streams -= 1))
      return
    }
    if (this.#served !== null) throw tooMany('one channel of calls')
    const onClose = (): void => {
      this.#served = null
    }
    this.#served = new LinkServerStream(host, stream, {
      handler: onCall,
      load: host.load,
      onClose,
      runningMax,
      resultBytesMax,
    })
  }
}

/** How much an agent may say: a burst, and so much in each second. */
class Budget {
  readonly #clock: Clock
  readonly #bucket: TokenBucket

  constructor(clock: Clock) {
    this.#clock = clock
    this.#bucket = fullBucket(messageRate, clock.monotonicMs())
  }

  /** Throws `rate_limited`. */
  spend(): void {
    if (takeToken(this.#bucket, messageRate, this.#clock.monotonicMs()) === 0) return
    throw new MusterError('rate_limited', `over ${messageRate.perSecond} messages a second`)
  }
}

/** How fast an agent is read: where it is ahead, its connection is not read until it is not. */
class Pace {
  readonly #clock: Clock
  readonly #socket: MessageSocket
  readonly #bucket: TokenBucket
  #pause: Timer | null = null
  /** What came although it is paused, and is still to be paid. */
  #owed = 0
  #isOver = false

  constructor(clock: Clock, socket: MessageSocket) {
    this.#clock = clock
    this.#socket = socket
    this.#bucket = fullBucket(askedRate, clock.monotonicMs())
  }

  took(bytes: number): void {
    if (this.#isOver) return
    const units = 1 + Math.floor(bytes / askedUnitBytes)
    if (this.#pause !== null) {
      this.#owed += units
      return
    }
    if (takeToken(this.#bucket, askedRate, this.#clock.monotonicMs(), units) === 0) return
    this.#owed += units
    this.#socket.pause()
    this.#wait()
  }

  /** The goodbye is to be read. */
  end(): void {
    this.#isOver = true
    if (this.#pause === null) return
    this.#pause.cancel()
    this.#pause = null
    this.#socket.resume()
  }

  #wait(): void {
    const ms = Math.max(1, (this.#owed * 1_000) / askedRate.perSecond)
    this.#pause = this.#clock.setTimer(ms, () => {
      this.#owed = 0
      this.#pause = null
      // The pause was the pay for what was owed; nothing is saved up in it.
      this.#bucket.atMs = this.#clock.monotonicMs()
      this.#socket.resume()
    })
  }
}

/** What a side asks on its own account. */
export function ownRequest(method: string, args: unknown, timeoutMs: number): CallRequest {
  return { method, args, token: null, remote: '', requestId: method, timeoutMs }
}

function tooMany(what: string): MusterError {
  return new MusterError('corrupt', `more than ${what} at a time`)
}

function gone(): MusterError {
  return new MusterError('unavailable', 'the uplink is closed')
}
