/**
 * The TCP side of the sockets: one message each way on a connection, under a deadline, a bound in number and a bound in
 * bytes held by all of them together.
 */
import { connect, type Socket } from 'node:net'
import { present } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Endpoint, StreamMessage } from './core/message.ts'
import { RateLimitedLog } from './rate-limited-log.ts'
import {
  asRequest,
  streamsMax,
  streamTimeoutMs,
  type StreamRequest,
  type TransportHandlers,
} from './transport.ts'
import { formatAddress, formatEndpoint, parseAddress } from './wire/address.ts'
import type { StreamDecoder, StreamRead, StreamWire } from './wire/stream.ts'

/** Received and not yet decoded, over all streams: three of the largest. */
const heldBytesMax = 64 * 1024 * 1024

/** A member says what it wants at once; after this long a stream that says nothing makes room for any other. */
const silentMs = 1_000

export type StreamStats = {
  accepted: number
  opened: number
  /** Closed because 128 were open: for newer ones, or as the newest. */
  turnedAway: number
  timedOut: number
}

type Stream = {
  readonly socket: Socket
  /** Of the other side, without its port. */
  readonly address: string
  readonly sinceMs: number
  readonly decoder: StreamDecoder
  /** Something came of the other side. */
  speaks: boolean
  /** Ends the stream; the reason goes to its waiters. */
  fail(error: MusterError): void
}

export class StreamSockets {
  readonly stats: StreamStats = { accepted: 0, opened: 0, turnedAway: 0, timedOut: 0 }
  readonly #wire: StreamWire
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #rateLimited: RateLimitedLog
  /** The oldest first. */
  readonly #inbound = new Set<Stream>()
  readonly #outbound = new Set<Stream>()
  #closed = false

  constructor(wire: StreamWire, clock: Clock, logger: Logger) {
    this.#wire = wire
    this.#clock = clock
    this.#logger = logger
    this.#rateLimited = new RateLimitedLog(clock)
  }

  /** Takes over a connection that another member opened. */
  accept(socket: Socket, handlers: TransportHandlers | null): void {
    const address = parseAddress(socket.remoteAddress ?? '')
    if (this.#closed || handlers === null || address === null) {
      socket.destroy()
      return
    }
    if (this.#inbound.size >= streamsMax && !this.#makeRoom(formatAddress(address))) {
      socket.destroy()
      return
    }
    this.stats.accepted += 1
    const from = { address, port: socket.remotePort ?? 0 }
    const stream: Stream = {
      socket,
      address: formatAddress(address),
      sinceMs: this.#clock.monotonicMs(),
      decoder: this.#wire.decoder('request'),
      speaks: false,
      fail() {
        socket.destroy()
      },
    }
    this.#watch(stream, this.#inbound, from, streamTimeoutMs)
    let answered = false
    const take = (read: StreamRead): void => {
      // What comes after the request is read and dropped: a reset would take the answer with it.
      if (answered || read.type === 'incomplete') return
      answered = true
      socket.end(this.#answer(read, handlers, from))
    }
    socket.on('data', (chunk) => {
      stream.speaks = true
      if (!answered) take(this.#feed(stream, chunk))
    })
    socket.on('end', () => {
      take(stream.decoder.end())
      socket.end()
    })
  }

  /** Sends a request and resolves with what came back. */
  ask(to: Endpoint, request: StreamRequest, timeoutMs = streamTimeoutMs): Promise<StreamMessage> {
    return new Promise((resolve, reject) => {
      const where = formatEndpoint(to)
      if (this.#closed) throw new MusterError('cancelled', 'the gossip transport is closed')
      if (this.#outbound.size >= streamsMax) {
        throw new MusterError(
          'overloaded',
          `${streamsMax} gossip streams are open; try again later`,
        )
      }
      if (to.port < 1 || to.port > 65_535) {
        throw new MusterError('invalid_argument', `${where} has no port to connect to`)
      }
      const bytes = this.#wire.encode(request, 'request')
      const socket = connect({ host: formatAddress(to.address), port: to.port, noDelay: true })
      this.stats.opened += 1
      const fail = (error: MusterError): void => {
        reject(error)
        socket.destroy()
      }
      const stream: Stream = {
        socket,
        address: formatAddress(to.address),
        sinceMs: this.#clock.monotonicMs(),
        decoder: this.#wire.decoder('answer'),
        speaks: false,
        fail,
      }
      this.#watch(stream, this.#outbound, to, timeoutMs)
      const take = (read: StreamRead): void => {
        if (read.type === 'message') {
          resolve(read.message)
          socket.destroy()
        } else if (read.type === 'refused') {
          fail(new MusterError('incompatible', `the answer of ${where} is ${read.reason}`))
        }
      }
      socket.on('data', (chunk) => {
        take(this.#feed(stream, chunk))
      })
      socket.on('end', () => {
        take(stream.decoder.end())
        // Without effect after an answer.
        fail(new MusterError('unavailable', `${where} ended the gossip stream unanswered`))
      })
      socket.on('connect', () => {
        socket.write(bytes)
      })
      socket.on('error', (error) => {
        fail(
          new MusterError('unavailable', `the gossip stream to ${where} failed: ${error.message}`, {
            cause: error,
          }),
        )
      })
      socket.on('close', () => {
        // Without effect when it ended well.
        reject(new MusterError('unavailable', `the gossip stream to ${where} was cut off`))
      })
    })
  }

  close(): void {
    this.#closed = true
    for (const stream of [...this.#inbound, ...this.#outbound]) {
      stream.fail(new MusterError('cancelled', 'the gossip transport is closed'))
    }
  }

  /**
   * Who opens many and says nothing, or little, keeps nobody else out: of streams that say nothing the oldest one goes, of the
   * address that has most of them, else the newest one of the address that has most streams. A member that is about to finish
   * does: of many that have one stream each none goes, and the newcomer tries again. False: there is no room for it.
   */
  #makeRoom(newcomer: string): boolean {
    this.stats.turnedAway += 1
    const silent = mostOfOne([...this.#inbound].filter(({ speaks }) => !speaks))
    const oldest = silent[0]
    const nowMs = this.#clock.monotonicMs()
    if (oldest !== undefined && (silent.length > 1 || nowMs - oldest.sinceMs >= silentMs)) {
      this.#turnAway(oldest)
      return true
    }
    const most = mostOfOne([...this.#inbound])
    const newest = present(most.at(-1), 'a stream where there are many')
    if (most.length === 1 || newest.address === newcomer) return false
    this.#turnAway(newest)
    return true
  }

  #turnAway(stream: Stream): void {
    // Its 'close' comes later, and the next one must find another.
    this.#inbound.delete(stream)
    stream.decoder.end()
    stream.socket.destroy()
  }

  /** Keeps a stream in its set, under its deadline, until it is closed. */
  #watch(stream: Stream, streams: Set<Stream>, other: Endpoint, timeoutMs: number): void {
    streams.add(stream)
    const deadline = this.#clock.setTimer(timeoutMs, () => {
      this.stats.timedOut += 1
      stream.fail(
        new MusterError(
          'timeout',
          `the gossip stream with ${formatEndpoint(other)} took over ${timeoutMs} ms`,
        ),
      )
    })
    stream.socket.on('close', () => {
      deadline.cancel()
      streams.delete(stream)
      stream.decoder.end()
    })
    stream.socket.on('error', () => {
      // Always followed by `close`.
    })
  }

  #feed(stream: Stream, chunk: Uint8Array): StreamRead {
    let held = chunk.length
    for (const { decoder } of this.#inbound) held += decoder.heldBytes
    for (const { decoder } of this.#outbound) held += decoder.heldBytes
    return held > heldBytesMax ? stream.decoder.refuse('too-large') : stream.decoder.feed(chunk)
  }

  /** The bytes that go back; empty for none. */
  #answer(read: StreamRead, handlers: TransportHandlers, from: Endpoint): Uint8Array {
    const silence = new Uint8Array()
    try {
      if (read.type === 'message') {
        const request = asRequest(read.message)
        const answer = request === null ? null : handlers.onStream(request, from)
        return answer === null ? silence : this.#wire.encode(answer, 'answer')
      }
      if (read.type !== 'refused') return silence
      const { reason } = read
      if (this.#rateLimited.due(`${reason} ${formatAddress(from.address)}`)) {
        this.#logger.warn('a gossip stream was refused', { from: formatEndpoint(from), reason })
      }
      // Another cluster is not told anything.
      if (reason === 'wrong-label') return silence
      return this.#wire.encode({ type: 'error', text: `refused: ${reason}` }, 'answer')
    } catch (error) {
      this.#logger.error('a gossip stream could not be answered', {
        from: formatEndpoint(from),
        error: textOf(error),
      })
      return silence
    }
  }
}

/** The streams of the address that has most of these, in their order. */
function mostOfOne(streams: readonly Stream[]): readonly Stream[] {
  let most: readonly Stream[] = []
  for (const ofOne of Map.groupBy(streams, ({ address }) => address).values()) {
    if (ofOne.length > most.length) most = ofOne
  }
  return most
}
