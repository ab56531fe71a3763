/**
 * This server's messages to one peer: a bounded queue and the one stream it drains into, dialled again for as long
 * as the peer is wanted. Answers come on the peer's own stream, see `inbound.ts`.
 *
 * Invariants: messages leave in the order given. At most `windowBytes` are unacknowledged, or a single frame;
 * at most `queueBytesMax` wait.
 */
import type { Timer } from '../../lib/clock.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { frameBytesMax, frameBytesTarget } from '../../wire/channel-options.ts'
import { dial, DialError, type DialFailure } from '../../wire/dial.ts'
import type { WireStream } from '../../wire/stream.ts'
import type { Wire } from '../../wire/wire.ts'
import type { Message } from '../core/message.ts'
import { decodeAck, encodeFrame, frameMessagesMax, messageBytes } from './codec.ts'
import { HeartbeatLane } from './heartbeat-lane.ts'
import type { Peer } from './transport.ts'

export const streamPath = '/muster.raft.Raft/Stream'

export type OutboundOptions = {
  readonly queueBytesMax: number
  readonly windowBytes: number
  /** Without an acknowledgement for this long although frames are out, the connection is given up; nor word that more of one has come. */
  readonly halfOpenMs: number
  /** Messages that waited longer for a connection are not worth sending. */
  readonly staleMs: number
  readonly backoffMaxMs: number
}

export type OutboundEvents = {
  onConnected(): void
  /** The connection was lost, and nothing listens there any more. Told once per connection. */
  onGone(): void
  /** A message on the reverse direction of this server's own stream, see RaftAck. */
  onMessage(message: Message): void
}

type Queued = { readonly message: Message; readonly bytes: number; readonly queuedMs: number }
type InFlight = { readonly bytes: number; readonly sentMs: number }

const backoffMinMs = 20
/** A peer that declines will decline again; it is asked less often. */
const rejectedBackoffMs = 1_000
/** A connection that lived this long counts as one. */
const settledMs = 1_000
/** Longer than any dial takes: of two servers that close for each other's sake, the first one's new stream is younger. */
const silentMs = 10_000
const dropLogIntervalMs = 10_000
/** A frame may be on its way for so long: as one of 512 KiB over 5 kB/s. */
const frameMsMax = 120_000
/** From here on heartbeats pass what is on its way: some ten milliseconds of a slow link. */
const heldUpBytes = 64 * 1024
/** A frame that takes so long is told, and so seldom. */
const slowFrameMs = 10_000
const slowLogIntervalMs = 60_000

export class Outbound {
  readonly peer: Peer
  readonly #wire: Wire
  readonly #options: OutboundOptions
  readonly #events: OutboundEvents
  readonly #logger: Logger
  readonly #ended = new AbortController()
  #queue: Queued[] = []
  #queuedBytes = 0
  #stream: WireStream | null = null
  #writable = false
  #flush: NodeJS.Immediate | null = null
  #inFlight: InFlight[] = []
  #inFlightBytes = 0
  #acknowledged = 0
  #lastAckMs = 0
  #watch: Timer | null = null
  /** Before the next dial; `declined`: the peer said no. */
  #backoff: { readonly timer: Timer; readonly declined: boolean } | null = null
  /** A connection broke, so being refused now means that the process is gone. Dials in between may fail otherwise:
   *  while a process dies its listener may outlive its streams for a moment, and reset new connections. */
  #lost = false
  /** Dials in a row that led to no connection worth the name. */
  #failures = 0
  #connectedMs = 0
  #droppedLoggedMs = Number.NEGATIVE_INFINITY
  #slowLoggedMs = Number.NEGATIVE_INFINITY
  readonly #lane: HeartbeatLane

  constructor(wire: Wire, peer: Peer, options: OutboundOptions, events: OutboundEvents) {
    this.#wire = wire
    this.peer = peer
    this.#options = options
    this.#events = events
    this.#logger = wire.logger
    this.#lane = new HeartbeatLane(wire, peer, {
      onArriving: () => this.#onArriving(),
      onLost: () => this.#closeSilent('its connection for heartbeats was lost'),
    })
    this.#connect()
  }

  get connected(): boolean {
    return this.#stream !== null
  }

  send(message: Message): void {
    if (this.#ended.signal.aborted) return
    // Round 0 tells what is committed, right behind the entries.
    if (message.type === 'heartbeat' && message.round > 0 && this.#stream !== null) {
      if (this.#lane.send(message, this.#inFlightBytes + this.#queuedBytes >= heldUpBytes)) return
    }
    const bytes = messageBytes(message)
    const over = this.#queuedBytes + bytes > this.#options.queueBytesMax
    if (over || bytes > frameBytesMax / 2) {
      this.#logDropped()
      return
    }
    this.#queue.push({ message, bytes, queuedMs: this.#wire.clock.monotonicMs() })
    this.#queuedBytes += bytes
    this.#scheduleFlush()
  }

  /**
   * The peer's own stream to this server closed. Where this one has none to the peer yet, for it has just started, being
   * refused there means from now on that the peer's process is gone.
   */
  peerClosed(): void {
    if (this.#stream === null) this.#lost = true
  }

  /**
   * The peer's own stream came: it runs, and is dialled without further delay. It lost its way here and found another one: what
   * says nothing of the way there is likely lost too.
   */
  peerArrived(): void {
    this.#closeSilent('the peer connects anew')
    if (this.#backoff === null || this.#backoff.declined) return
    this.#backoff.timer.cancel()
    this.#connect()
  }

  close(): void {
    if (this.#ended.signal.aborted) return
    this.#ended.abort()
    this.#backoff?.timer.cancel()
    this.#lane.close()
    // What was said last (a transfer of leadership) should still arrive.
    this.#flushQueue()
    this.#stream?.finish('the connection is not wanted any more')
    if (this.#flush !== null) clearImmediate(this.#flush)
    this.#queue = []
    this.#queuedBytes = 0
  }

  /** A stream without entries is silent, and its own ping waits for as long as a large frame may take. */
  #closeSilent(reason: string): void {
    const heardMs = Math.max(this.#connectedMs, this.#lastAckMs)
    if (this.#wire.clock.monotonicMs() - heardMs >= silentMs) this.#stream?.close(reason)
  }

  #connect(): void {
    this.#backoff = null
    const { address, id } = this.peer
    const { signal } = this.#ended
    const target = { address, path: streamPath, to: id, pingMs: frameMsMax }
    dial(this.#wire, target, signal).then(
      (stream) => this.#onStream(stream),
      (error: unknown) => {
        if (signal.aborted) return
        const failure = error instanceof DialError ? error.failure : 'unreachable'
        if (this.#failures === 0) {
          this.#logger.info('peer cannot be reached', { peer: id, reason: textOf(error) })
        }
        this.#failures += 1
        this.#tellIfGone(failure)
        this.#connectLater(failure === 'rejected')
      },
    )
  }

  #tellIfGone(failure: DialFailure): void {
    const gone = this.#lost && failure === 'connectionRefused'
    if (gone || failure === 'rejected') this.#lost = false
    if (gone) this.#events.onGone()
  }

  #connectLater(rejected: boolean): void {
    const grown = backoffMinMs * 2 ** Math.min(this.#failures, 10)
    const capMs = rejected ? rejectedBackoffMs : Math.min(grown, this.#options.backoffMaxMs)
    const delayMs = capMs * (0.5 + this.#wire.random.next() / 2)
    const timer = this.#wire.clock.setTimer(delayMs, () => this.#connect())
    this.#backoff = { timer, declined: rejected }
  }

  #onStream(stream: WireStream): void {
    if (this.#ended.signal.aborted) {
      stream.close('the connection is not wanted any more')
      return
    }
    this.#stream = stream
    this.#lost = false
    this.#writable = true
    this.#connectedMs = this.#wire.clock.monotonicMs()
    this.#inFlight = []
    this.#inFlightBytes = 0
    this.#acknowledged = 0
    this.#dropStale()
    this.#logger.info('peer connected', { peer: this.peer.id, version: stream.peer.version })
    stream.start({
      onFrame: (frame) => this.#onAck(stream, frame),
      onDrain: () => {
        this.#writable = true
        this.#flushQueue()
      },
      onClose: (reason) => this.#onClose(reason),
    })
    if (!stream.open) return
    this.#lane.want(true)
    this.#events.onConnected()
    this.#flushQueue()
  }

  #onClose(reason: string): void {
    this.#stream = null
    this.#watch?.cancel()
    this.#watch = null
    this.#lane.want(false)
    if (this.#ended.signal.aborted) return
    this.#logger.info('peer disconnected', { peer: this.peer.id, reason })
    // At once after a connection that held; one that breaks as soon as it stands must not be dialled in a loop.
    if (this.#wire.clock.monotonicMs() - this.#connectedMs >= settledMs) this.#failures = 0
    this.#failures += 1
    this.#lost = true
    if (this.#failures === 1) this.#connect()
    else this.#connectLater(false)
  }

  #onAck(stream: WireStream, frame: Buffer): void {
    let ack
    try {
      ack = decodeAck(frame, this.peer.id, this.#wire.identity().serverId)
      if (
        ack.received < this.#acknowledged ||
        ack.received > this.#acknowledged + this.#inFlight.length
      ) {
        throw new RangeError(`it acknowledges frame ${ack.received}, which was not sent`)
      }
    } catch (error) {
      this.#refuse(stream, error)
      return
    }
    this.#lastAckMs = this.#wire.clock.monotonicMs()
    const count = ack.received - this.#acknowledged
    for (const { bytes } of this.#inFlight.splice(0, count)) this.#inFlightBytes -= bytes
    this.#acknowledged = ack.received
    try {
      for (const message of ack.messages) this.#events.onMessage(message)
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
      this.#refuse(stream, error)
      return
    }
    this.#flushQueue()
  }

  #refuse(stream: WireStream, error: unknown): void {
    stream.close(this.#wire.refusals.addFrame(this.peer.id, error, 'bad acknowledgement'))
  }

  /** One frame for all that one turn of the event loop says. */
  #scheduleFlush(): void {
    if (this.#flush !== null || this.#stream === null) return
    this.#flush = setImmediate(() => {
      this.#flush = null
      this.#flushQueue()
    })
  }

  #flushQueue(): void {
    const stream = this.#stream
    if (stream === null) return
    let taken = 0
    while (taken < this.#queue.length && this.#writable) {
      const batch: Message[] = []
      let bytes = 0
      for (let at = taken; at < this.#queue.length; at += 1) {
        const queued = this.#queue[at]
        if (queued === undefined || batch.length >= frameMessagesMax) break
        if (batch.length > 0 && bytes + queued.bytes > frameBytesTarget) break
        batch.push(queued.message)
        bytes += queued.bytes
      }
      const room = this.#options.windowBytes - this.#inFlightBytes
      if (this.#inFlight.length > 0 && bytes > room) break
      taken += batch.length
      this.#queuedBytes -= bytes
      const sentMs = this.#wire.clock.monotonicMs()
      this.#inFlight.push({ bytes, sentMs })
      this.#inFlightBytes += bytes
      this.#writable = stream.write(encodeFrame(batch))
    }
    if (taken > 0) this.#queue.splice(0, taken)
    if (this.#inFlight.length > 0) this.#watchAcks(stream)
  }

  /** `suspected`: silent at the last look. After a pause of this process the first look precedes what has arrived. */
  #watchAcks(stream: WireStream, suspected = false): void {
    if (this.#watch !== null || !stream.open) return
    this.#watch = this.#wire.clock.setTimer(this.#options.halfOpenMs / 4, () => {
      this.#watch = null
      const oldest = this.#inFlight[0]
      if (oldest === undefined) return
      const silentMs = this.#wire.clock.monotonicMs() - Math.max(oldest.sentMs, this.#lastAckMs)
      const silent = silentMs > this.#options.halfOpenMs
      if (silent && suspected) stream.close(`no acknowledgement for ${Math.round(silentMs)} ms`)
      else this.#watchAcks(stream, silent)
    })
  }

  #dropStale(): void {
    const oldestMs = this.#wire.clock.monotonicMs() - this.#options.staleMs
    this.#queue = this.#queue.filter(({ queuedMs }) => queuedMs >= oldestMs)
    this.#queuedBytes = this.#queue.reduce((total, { bytes }) => total + bytes, 0)
  }

  /** A frame that takes long to come is no silence. */
  #onArriving(): void {
    const now = this.#wire.clock.monotonicMs()
    this.#lastAckMs = now
    const tookMs = now - (this.#inFlight[0]?.sentMs ?? now)
    if (tookMs < slowFrameMs || now - this.#slowLoggedMs < slowLogIntervalMs) return
    this.#slowLoggedMs = now
    this.#logger.warn('the link to this peer is slow: entries are on their way for long', {
      peer: this.peer.id,
      ms: Math.round(tookMs),
      bytes: this.#inFlightBytes,
    })
  }

  #logDropped(): void {
    const now = this.#wire.clock.monotonicMs()
    if (now - this.#droppedLoggedMs < dropLogIntervalMs) return
    this.#droppedLoggedMs = now
    const level = this.#stream === null ? 'debug' : 'warn'
    this.#logger[level]('messages dropped: too many bytes wait for this peer', {
      peer: this.peer.id,
      queueBytesMax: this.#options.queueBytesMax,
    })
  }
}
