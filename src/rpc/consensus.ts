/**
 * What `rpc` needs of consensus, declared here and given by the composition root (`server/server.ts`) from `raft/node.ts`.
 */
export type LeaderInfo = {
  readonly id: string
  readonly name: string
  readonly address: string
  /** That it leads in. */
  readonly term: number
}

export type ProposeOptions = {
  /** To be appended in this term only; in any other it is `not_leader`. */
  readonly term?: number | undefined
  /**
   * When leadership ends, how long to wait for what becomes of the entry: it is applied, or another one takes its place,
   * which is `not_leader`. 0 when absent: `outcome_unknown` at once.
   */
  readonly lingerMs?: number | undefined
  /** Monotonic: then it is `outcome_unknown`. Absent: it is waited for however long it takes. */
  readonly deadlineMs?: number
}

export type Proposed<Outcome = unknown> = { readonly index: number; readonly outcome: Outcome }

export interface Consensus {
  /**
   * Replicates one encoded command and resolves with its outcome once it is applied *here*.
   * Rejects with MusterError: `not_leader` or `overloaded` (it took no effect and never will), `outcome_unknown`.
   */
  propose(data: Uint8Array, options?: ProposeOptions): Promise<Proposed>

  /**
   * Resolves once this server's state is at least as new as the cluster was when this was called.
   * `linearizable`: confirmed by a quorum round. `leader`: by the leader's word under its lease (a deposed leader may err for at most the lease).
   * Rejects with `no_leader`, `timeout`, or `cancelled` if `signal` has fired by then.
   */
  readBarrier(
    mode: 'linearizable' | 'leader',
    deadlineMs: number,
    signal?: Pick<AbortSignal, 'aborted'>,
  ): Promise<void>

  /** What `readBarrier` would wait for is so already, as is known without asking anybody. */
  isFresh(mode: 'linearizable' | 'leader'): boolean

  isLeader(): boolean
  /**
   * This server leads and is not `isLeader` for a moment: it was just elected, and its state still lacks entries that were
   * acknowledged before, or it hands over. Both take a few round trips. A server that handed over settles until it knows its
   * successor: a refusal before that would only be sent again.
   */
  isSettling(): boolean
  /** The leader this server follows or is, if it knows one. */
  leader(): LeaderInfo | null
  /** Resolves with the leader as soon as one is known; rejects with `no_leader` at the deadline (monotonic ms). */
  waitForLeader(deadlineMs: number, signal?: AbortSignal): Promise<LeaderInfo>
  /** Calls `listener` at the next change of what `isLeader`, `isSettling` or `leader` say. Returns the way to stop listening. */
  onceChanged(listener: () => void): () => void
  /** Milliseconds since this server last heard its leader; 0 on the leader. */
  lastContactMs(): number
}
