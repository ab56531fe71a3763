/** What operators see and change of consensus, declared here; `raft/node.ts` has its form. */
export type RaftMember = {
  readonly id: string
  readonly name: string
  /** host:port of the RPC listener */
  readonly address: string
  readonly role: 'voter' | 'learner'
}

/** `unknown`: this server has no sign of it, as one follower of another without gossip. */
export type ServerStatus = 'alive' | 'failed' | 'left' | 'unknown'

export interface RaftControl {
  /** This server's own view, also while no leader is known. */
  status(): {
    readonly term: number
    readonly leaderId: string | null
    readonly configuration: { readonly members: readonly RaftMember[] }
    readonly configurationIndex: number
  }
  /** As this server sees it, from gossip and its connections. */
  statusOf(id: string): ServerStatus
  /** Its connection closed and a new one was refused. */
  isGone(id: string): boolean
  /** Resolves once another server leads. `deadlineMs`: monotonic. */
  transferLeadership(target: string | null, deadlineMs: number): Promise<void>
  changeMembership(change: { readonly type: 'remove'; readonly id: string }): Promise<void>
}
