/**
 * The contract of calls between servers, declared by those who call (`forward.ts`, `server/membership.ts`).
 * Its form on sockets is `rpc/grpc.ts`: one long-lived bidirectional stream per peer that carries many calls at once.
 */
export type CallRequest = {
  /** A method of the registry, or one of the servers' own (`server.identity`). */
  readonly method: string
  /** Plain data that msgpack keeps whole. */
  readonly args: unknown
  readonly token: string | null
  readonly remote: string
  readonly requestId: string
  /** What is left of the caller's time when the request leaves. */
  readonly timeoutMs: number
}

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

/** What the receiving side runs. `signal` fires when the caller gave up or its connection broke. */
export type CallHandler = (request: CallRequest, signal: AbortSignal) => Promise<unknown>
