/**
 * The contract of calls between servers, declared by those who call (`forward.ts`, `server/membership.ts`).
 * Its form on sockets is `rpc/grpc.ts`: one long-lived bidirectional stream per peer that carries many calls at once,
 * and a connection of its own for each call whose result is a stream of items.
 */
export type CallRequest = {
  /** A method of the registry, or one of the servers' own (`server.identity`). */
  readonly method: string
  /** Plain data that msgpack keeps whole. */
  readonly args: unknown
  readonly token: string | null
  readonly remote: string
  readonly requestId: string
  /** True: a use of the token was spent for the request already. */
  readonly use?: boolean
  /** What is left of the caller's time when the request leaves. */
  readonly timeoutMs: number
  /** Of a write that may be sent again, see `sent-writes.ts`; absent: it is not. */
  readonly write?: NamedWrite
  /** It is for the client agent of this node, whose uplink the target holds. */
  readonly node?: string
  /** Asked because the target leads: when another does, it is settled soon. Not sent. */
  readonly atLeader?: true
}

/** `term`: that the target leads in, as the sender knows; in no other may it append anything of the write. */
export type NamedWrite = { readonly name: string; readonly term: number }

export type CallTarget = {
  /** host:port of the RPC listener */
  readonly address: string
  /** The server that must answer there; null when it is not known yet (bootstrap, join). */
  readonly id: string | null
}

export interface PeerLink {
  /**
   * Resolves with the result. Rejects with the remote's MusterError (code, message, details kept), or with
   * `unavailable`: surely not delivered, `outcome_unknown`: sent, then the connection or the time was lost.
   */
  call(target: CallTarget, request: CallRequest, signal?: AbortSignal): Promise<unknown>
  stop(): Promise<void>
}

export interface StreamLink {
  /**
   * Resolves once the other side took the call; the items then come as fast as they are read and no faster. Rejects
   * with the remote's MusterError, `unavailable`, `timeout` (not taken within `timeoutMs`, which bounds nothing else) or
   * `cancelled`. The caller reads the iterator to its end, calls its `return`, or fires `signal`; a connection that
   * breaks is `unavailable` in the middle.
   */
  stream(
    target: CallTarget,
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>>
}

/** What the receiving side of a stream runs. The items end soon after `signal`. */
export type StreamHandler = (
  request: CallRequest,
  signal: AbortSignal,
) => Promise<AsyncIterable<unknown>>

/** What the receiving side runs. `signal` fires when the caller gave up or its connection broke. */
export type CallHandler = (request: CallRequest, signal: AbortSignal) => Promise<unknown>
