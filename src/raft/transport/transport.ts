/**
 * The contract between the Raft driver and whatever carries messages, declared by the driver that needs it.
 * `grpc.ts` is its form on sockets; the simulator and unit tests bring fakes.
 */
import type { Message, ServerId, SnapshotMeta, Term } from '../core/message.ts'

export type Peer = {
  readonly id: ServerId
  readonly name: string
  /** host:port */
  readonly address: string
}

/** A state snapshot that can be read again from any chunk for as long as it is open. */
export type SnapshotSource = {
  readonly meta: SnapshotMeta
  /** Unique among all snapshots ever taken: a receiver resumes only within the same id. */
  readonly id: string
  /** Chunks from number `from` (0 is the first), each at most 1 MiB, in order, the same bytes on every call. */
  chunks(from: number): AsyncIterable<Uint8Array>
  close(): Promise<void>
}

/** Where an arriving snapshot goes. Nothing of it takes effect before the core says so. */
export type SnapshotSink = {
  /** Chunks already held; the sender goes on from here after an interruption. */
  readonly received: number
  write(chunk: Uint8Array): Promise<void>
  /** All chunks are there and `sha256` (hex, over all chunks) agrees: the snapshot is staged and durable. */
  finish(sha256: string): Promise<void>
}

export type TransportHandlers = {
  /** A checked message for this server, from the peer it claims. A MusterError that it throws ends the peer's stream. */
  onMessage(message: Message): void
  /**
   * The peer's process is gone: its connection closed *and* a new one was refused at once.
   * Only a hint for a quicker election; safety never depends on it.
   */
  onPeerGone(id: ServerId): void
  onPeerConnected(id: ServerId): void
  /** A leader of `term` offers a snapshot. Rejects when this server does not want it. A later offer voids the earlier. */
  onSnapshotOffer(offer: {
    readonly from: ServerId
    readonly term: Term
    readonly id: string
    readonly meta: SnapshotMeta
  }): Promise<SnapshotSink>
  /** The sink's `finish` resolved. */
  onSnapshotReceived(offer: {
    readonly from: ServerId
    readonly term: Term
    readonly meta: SnapshotMeta
  }): void
}

export interface RaftTransport {
  start(handlers: TransportHandlers): Promise<void>
  /** Connects to exactly these; connections to others are closed. Idempotent. */
  setPeers(peers: readonly Peer[]): void
  /**
   * Hands a message over; never blocks, never throws, may drop it. In order per peer while a connection lives.
   * Drops the newest when the peer's queue is over its bound in bytes.
   */
  send(message: Message): void
  /**
   * Streams a snapshot with flow control; survives reconnects within `source.id` by going on where the receiver stopped.
   * Resolves when the receiver has staged it whole; rejects when the receiver refused, `signal` fired, or it made no progress for too long.
   */
  sendSnapshot(to: ServerId, term: Term, source: SnapshotSource, signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}
