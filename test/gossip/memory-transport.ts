/**
 * The fake of the sockets: transports of one network in memory. Bytes go through the same wire format, in small chunks;
 * time comes from the clock, so that a simulated one makes a run repeatable.
 */
import type { Clock, Timer } from '../../src/lib/clock.ts'
import { MusterError } from '../../src/lib/errors.ts'
import type { Endpoint, PushPull, StreamMessage } from '../../src/gossip/core/message.ts'
import {
  ackFrom,
  asRequest,
  pushPullFrom,
  streamTimeoutMs,
  type Ack,
  type GossipTransport,
  type Ping,
  type StreamRequest,
  type TransportHandlers,
} from '../../src/gossip/transport.ts'
import { formatEndpoint } from '../../src/gossip/wire/address.ts'
import type { StreamDecoder, StreamRead, StreamWire } from '../../src/gossip/wire/stream.ts'

/** Odd, so that chunks end within lengths and fields. */
const chunkBytes = 97

export type MemoryPath = 'packet' | 'stream'

export class MemoryNetwork {
  /** What gets lost; a test sets it. A lost stream times out. */
  lost: (from: Endpoint, to: Endpoint, path: MemoryPath) => boolean = () => false
  readonly clock: Clock
  readonly #latencyMs: number
  readonly #transports = new Map<string, MemoryTransport>()

  constructor(clock: Clock, latencyMs = 0) {
    this.clock = clock
    this.#latencyMs = latencyMs
  }

  /** A transport that listens at `endpoint`. Throws conflict when one does already. */
  listen(endpoint: Endpoint, wire: StreamWire): GossipTransport {
    const key = formatEndpoint(endpoint)
    if (this.#transports.has(key)) {
      throw new MusterError('conflict', `${key} is in use; listen at another endpoint`)
    }
    const transport = new MemoryTransport(this, endpoint, wire, () => this.#transports.delete(key))
    this.#transports.set(key, transport)
    return transport
  }

  find(endpoint: Endpoint): MemoryTransport | undefined {
    return this.#transports.get(formatEndpoint(endpoint))
  }

  /** Runs `arrive` one way later. */
  carry(arrive: () => void): Timer {
    return this.clock.setTimer(this.#latencyMs, arrive)
  }
}

class MemoryTransport implements GossipTransport {
  readonly endpoint: Endpoint
  readonly wire: StreamWire
  readonly #network: MemoryNetwork
  readonly #onClose: () => void
  readonly #waiting = new Set<(error: MusterError) => void>()
  #handlers: TransportHandlers | null = null

  constructor(network: MemoryNetwork, endpoint: Endpoint, wire: StreamWire, onClose: () => void) {
    this.#network = network
    this.endpoint = endpoint
    this.wire = wire
    this.#onClose = onClose
  }

  start(handlers: TransportHandlers): void {
    this.#handlers = handlers
  }

  sendPacket(to: Endpoint, packet: Uint8Array): void {
    if (this.#network.lost(this.endpoint, to, 'packet')) return
    const bytes = new Uint8Array(packet)
    this.#network.carry(() => {
      this.#network.find(to)?.receivePacket(bytes, this.endpoint)
    })
  }

  receivePacket(packet: Uint8Array, from: Endpoint): void {
    this.#handlers?.onPacket(packet, from)
  }

  async pushPull(to: Endpoint, request: PushPull, timeoutMs?: number): Promise<PushPull> {
    return pushPullFrom(await this.#exchange(to, request, timeoutMs))
  }

  async ping(to: Endpoint, request: Ping, timeoutMs?: number): Promise<Ack> {
    return ackFrom(await this.#exchange(to, request, timeoutMs), request.sequence)
  }

  close(): Promise<void> {
    this.#handlers = null
    this.#onClose()
    for (const fail of this.#waiting) {
      fail(new MusterError('cancelled', 'the gossip transport is closed'))
    }
    return Promise.resolve()
  }

  /** The bytes that answer a request; empty for none. */
  answer(request: Uint8Array, from: Endpoint): Uint8Array {
    const read = feedInChunks(this.wire.decoder('request'), request)
    if (read.type === 'incomplete') return new Uint8Array()
    if (read.type === 'refused') {
      return read.reason === 'wrong-label'
        ? new Uint8Array()
        : this.wire.encode({ type: 'error', text: `refused: ${read.reason}` }, 'answer')
    }
    const asked = asRequest(read.message)
    const answer = asked === null ? null : (this.#handlers?.onStream(asked, from) ?? null)
    return answer === null ? new Uint8Array() : this.wire.encode(answer, 'answer')
  }

  #exchange(
    to: Endpoint,
    request: StreamRequest,
    timeoutMs = streamTimeoutMs,
  ): Promise<StreamMessage> {
    const where = formatEndpoint(to)
    return new Promise((resolve, reject) => {
      const bytes = this.wire.encode(request, 'request')
      const fail = (error: MusterError): void => {
        deadline.cancel()
        this.#waiting.delete(fail)
        reject(error)
      }
      const deadline = this.#network.clock.setTimer(timeoutMs, () => {
        fail(new MusterError('timeout', `the gossip stream to ${where} took over ${timeoutMs} ms`))
      })
      this.#waiting.add(fail)
      if (this.#network.lost(this.endpoint, to, 'stream')) return
      this.#network.carry(() => {
        const peer = this.#network.find(to)
        if (peer === undefined) {
          fail(new MusterError('unavailable', `nobody listens at ${where}`))
          return
        }
        const answer = peer.answer(bytes, this.endpoint)
        if (this.#network.lost(to, this.endpoint, 'stream')) return
        this.#network.carry(() => {
          const read = feedInChunks(this.wire.decoder('answer'), answer)
          if (read.type === 'message') {
            deadline.cancel()
            this.#waiting.delete(fail)
            resolve(read.message)
          } else if (read.type === 'refused') {
            fail(new MusterError('incompatible', `the answer of ${where} is ${read.reason}`))
          } else {
            fail(new MusterError('unavailable', `${where} ended the gossip stream unanswered`))
          }
        })
      })
    })
  }
}

function feedInChunks(decoder: StreamDecoder, bytes: Uint8Array): StreamRead {
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    const read = decoder.feed(bytes.subarray(at, at + chunkBytes))
    if (read.type !== 'incomplete') return read
  }
  return decoder.end()
}
