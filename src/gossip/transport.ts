/**
 * The contract between the gossip driver and whatever carries its bytes, and what both carriers share. `sockets.ts` is
 * its form on UDP and TCP, `test/gossip/memory-transport.ts` its fake.
 */
import { MusterError } from '../lib/errors.ts'
import type { Endpoint, PushPull, StreamMessage } from './core/message.ts'

export type Ping = Extract<StreamMessage, { readonly type: 'ping' }>
export type Ack = Extract<StreamMessage, { readonly type: 'ack' }>
export type StreamRequest = Extract<StreamMessage, { readonly type: 'push-pull' | 'ping' | 'user' }>
export type StreamAnswer = Extract<StreamMessage, { readonly type: 'push-pull' | 'ack' | 'error' }>

/** From the first byte to the last of a stream, connecting included, unless the caller wants less or more. */
export const streamTimeoutMs = 10_000
/** Streams open at once, each way. */
export const streamsMax = 128

/** Called one after the other, never after `close` was called. */
export type TransportHandlers = {
  /** A packet as it came; the bytes are the receiver's to keep. */
  onPacket(packet: Uint8Array, from: Endpoint): void
  /**
   * A request on a stream, with the port it happened to use. The answer goes back before the stream ends; null
   * ends it without one. A push/pull is answered from the state before it is merged.
   */
  onStream(request: StreamRequest, from: Endpoint): StreamAnswer | null
}

/**
 * What a stream call rejects with: unavailable (not reachable, or ended without an answer), timeout, conflict (the other
 * side is a member and refused), incompatible (its answer cannot be read), overloaded (128 are open), too_large, cancelled (closed here).
 */
export interface GossipTransport {
  /** Where it listens, for packets and streams alike. */
  readonly endpoint: Endpoint
  /** Called once. What comes before it is lost. */
  start(handlers: TransportHandlers): void
  /** Never throws, never blocks, may lose the packet. */
  sendPacket(to: Endpoint, packet: Uint8Array): void
  /** Sends our state and resolves with theirs. */
  pushPull(to: Endpoint, request: PushPull, timeoutMs?: number): Promise<PushPull>
  /** Resolves with the ack of the same sequence number. */
  ping(to: Endpoint, request: Ping, timeoutMs?: number): Promise<Ack>
  /** Ends every stream; idempotent. */
  close(): Promise<void>
}

/** The machine is there and says that no process listens: `unavailable` with the system's own word for it as its cause. */
export function wasRefused(error: unknown): boolean {
  if (!(error instanceof MusterError) || !(error.cause instanceof Error)) return false
  return 'code' in error.cause && error.cause.code === 'ECONNREFUSED'
}

/** Only a request may begin a stream. */
export function asRequest(message: StreamMessage): StreamRequest | null {
  return message.type === 'push-pull' || message.type === 'ping' || message.type === 'user'
    ? message
    : null
}

/** The push/pull that answers ours. Throws incompatible for anything else. */
export function pushPullFrom(answer: StreamMessage): PushPull {
  if (answer.type === 'push-pull') return answer
  throw unexpected(answer, 'a push/pull')
}

/** The ack that answers our ping. Throws incompatible for anything else. */
export function ackFrom(answer: StreamMessage, sequence: number): Ack {
  if (answer.type !== 'ack') throw unexpected(answer, 'an ack')
  if (answer.sequence === sequence) return answer
  throw new MusterError(
    'incompatible',
    `the gossip ping ${sequence} was answered by an ack of ${answer.sequence}`,
  )
}

function unexpected(answer: StreamMessage, wanted: string): MusterError {
  if (answer.type === 'error') {
    return new MusterError('conflict', `the other side refused: ${JSON.stringify(answer.text)}`)
  }
  return new MusterError(
    'incompatible',
    `the other side answered with a ${answer.type}, not with ${wanted}`,
  )
}
