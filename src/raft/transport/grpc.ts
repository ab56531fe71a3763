/**
 * `RaftTransport` on gRPC: one stream per directed pair for messages, one for heartbeats that pass them, one connection per snapshot.
 * A dials B and sends A's messages there; B's answers travel on the stream that B dialled to A, so that a network
 * that loses one direction looks to both sides like what it is.
 */
import { assert } from '../../lib/assert.ts'
import { MusterError } from '../../lib/errors.ts'
import type { WireService } from '../../wire/server.ts'
import type { WireStream } from '../../wire/stream.ts'
import type { Wire } from '../../wire/wire.ts'
import type { Message, ServerId, Term } from '../core/message.ts'
import { lanePath, takeHeartbeats, type InboundLane } from './heartbeat-lane.ts'
import { Inbound } from './inbound.ts'
import { Outbound, type OutboundOptions, streamPath } from './outbound.ts'
import { SnapshotReceiver } from './snapshot-receiver.ts'
import { snapshotPath, SnapshotSender } from './snapshot-sender.ts'
import type { Peer, RaftTransport, SnapshotSource, TransportHandlers } from './transport.ts'

const laterStream = 'a later stream of the same server took its place'

export type GrpcRaftTransportOptions = {
  readonly wire: Wire
  /** Bytes that may wait for one peer; the newest are dropped beyond. */
  readonly queueBytesMax?: number
  /** Bytes on their way to one peer that it has not acknowledged. */
  readonly windowBytes?: number
  readonly halfOpenMs?: number
  readonly staleMs?: number
  readonly backoffMaxMs?: number
  readonly snapshotProgressTimeoutMs?: number
  readonly snapshotFinishTimeoutMs?: number
}

export class GrpcRaftTransport implements RaftTransport {
  /** To be given to the process's WireServer. Streams that come before `start` are refused. */
  readonly services: readonly WireService[]
  readonly #wire: Wire
  readonly #outboundOptions: OutboundOptions
  readonly #snapshotTimeouts: {
    readonly progressTimeoutMs: number
    readonly finishTimeoutMs: number
  }
  readonly #outbound = new Map<ServerId, Outbound>()
  /** The latest stream of each caller; an earlier one is a connection it has given up. */
  readonly #inbound = new Map<ServerId, Inbound>()
  /** Likewise, of heartbeats. */
  readonly #lanes = new Map<ServerId, InboundLane>()
  readonly #stopping = new AbortController()
  readonly #sending = new Set<Promise<void>>()
  #handlers: TransportHandlers | null = null
  #receiver: SnapshotReceiver | null = null

  constructor(options: GrpcRaftTransportOptions) {
    this.#wire = options.wire
    this.#outboundOptions = {
      queueBytesMax: options.queueBytesMax ?? 32 * 1024 * 1024,
      windowBytes: options.windowBytes ?? 4 * 1024 * 1024,
      halfOpenMs: options.halfOpenMs ?? 3_000,
      staleMs: options.staleMs ?? 1_000,
      backoffMaxMs: options.backoffMaxMs ?? 200,
    }
    this.#snapshotTimeouts = {
      progressTimeoutMs: options.snapshotProgressTimeoutMs ?? 30_000,
      finishTimeoutMs: options.snapshotFinishTimeoutMs ?? 120_000,
    }
    this.services = [
      { path: streamPath, accept: (stream) => this.#acceptMessages(stream) },
      { path: lanePath, accept: (stream) => this.#acceptHeartbeats(stream) },
      { path: snapshotPath, accept: (stream) => this.#acceptSnapshot(stream) },
    ]
  }

  start(handlers: TransportHandlers): Promise<void> {
    assert(this.#handlers === null, 'the transport is started once')
    this.#handlers = handlers
    this.#receiver = new SnapshotReceiver(this.#wire, handlers)
    return Promise.resolve()
  }

  setPeers(peers: readonly Peer[]): void {
    if (this.#stopping.signal.aborted) return
    const own = this.#wire.identity().serverId
    const wanted = new Map(peers.filter(({ id }) => id !== own).map((peer) => [peer.id, peer]))
    for (const [id, outbound] of this.#outbound) {
      if (wanted.get(id)?.address === outbound.peer.address) continue
      outbound.close()
      this.#outbound.delete(id)
    }
    for (const peer of wanted.values()) {
      if (!this.#outbound.has(peer.id)) this.#outbound.set(peer.id, this.#open(peer))
    }
  }

  send(message: Message): void {
    const outbound = this.#outbound.get(message.to)
    if (outbound !== undefined) outbound.send(message)
    else this.#inbound.get(message.to)?.reply(message)
  }

  async sendSnapshot(
    to: ServerId,
    term: Term,
    source: SnapshotSource,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#stopping.signal.aborted) {
      throw new MusterError('cancelled', 'the transport of this server has stopped')
    }
    const sender = new SnapshotSender(this.#wire, {
      to,
      address: () => this.#outbound.get(to)?.peer.address,
      term,
      source,
      signal: AbortSignal.any([signal, this.#stopping.signal]),
      ...this.#snapshotTimeouts,
    })
    const run = sender.run()
    this.#sending.add(run)
    try {
      await run
    } finally {
      this.#sending.delete(run)
    }
  }

  /** Whether this server's stream to the peer is up. */
  connected(id: ServerId): boolean {
    return this.#outbound.get(id)?.connected ?? false
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    for (const outbound of this.#outbound.values()) outbound.close()
    this.#outbound.clear()
    for (const inbound of this.#inbound.values()) inbound.close('this server stops')
    for (const lane of this.#lanes.values()) lane.close('this server stops')
    await this.#receiver?.stop()
    await Promise.allSettled(this.#sending)
  }

  #open(peer: Peer): Outbound {
    const onMessage = (message: Message): void => this.#handlers?.onMessage(message)
    return new Outbound(this.#wire, peer, this.#outboundOptions, {
      onConnected: () => this.#handlers?.onPeerConnected(peer.id),
      onGone: () => this.#handlers?.onPeerGone(peer.id),
      onMessage,
    })
  }

  #acceptMessages(stream: WireStream): void {
    const handlers = this.#handlersFor(stream)
    const { id } = stream.peer
    const previous = this.#inbound.get(id)
    let inbound: Inbound | null = null
    inbound = new Inbound(this.#wire, stream, {
      onMessage: (message) => handlers.onMessage(message),
      onArriving: () => this.#lanes.get(id)?.sayArriving(),
      onClose: () => {
        if (this.#inbound.get(id) !== inbound) return
        this.#inbound.delete(id)
        this.#outbound.get(id)?.peerClosed()
      },
    })
    if (stream.open) this.#inbound.set(id, inbound)
    previous?.close(laterStream)
    this.#outbound.get(id)?.peerArrived()
  }

  #acceptHeartbeats(stream: WireStream): void {
    const handlers = this.#handlersFor(stream)
    const { id } = stream.peer
    const previous = this.#lanes.get(id)
    let lane: InboundLane | null = null
    lane = takeHeartbeats(this.#wire, stream, {
      onMessage: (message) => handlers.onMessage(message),
      onClose: () => {
        if (this.#lanes.get(id) === lane) this.#lanes.delete(id)
      },
    })
    if (stream.open) this.#lanes.set(id, lane)
    previous?.close(laterStream)
  }

  #acceptSnapshot(stream: WireStream): void {
    this.#handlersFor(stream)
    this.#receiver?.accept(stream)
  }

  #handlersFor(stream: WireStream): TransportHandlers {
    if (this.#handlers === null || this.#stopping.signal.aborted) {
      throw new MusterError('unavailable', 'this server takes no part in consensus now')
    }
    if (stream.peer.id === this.#wire.identity().serverId) {
      throw new MusterError('incompatible', `server ${stream.peer.id} was dialled by itself`)
    }
    return this.#handlers
  }
}
