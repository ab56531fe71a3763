/**
 * The entry point of `raft`: what the rest of the program and the simulator see of a running Raft node, which `node.ts` is.
 */
import type { Clock } from '../lib/clock.ts'
import type { DiskGate } from '../lib/disk-gate.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { FollowerProgress } from './core/progress.ts'
import type { Configuration, LogIndex, Member, ServerId, Term } from './core/message.ts'
import type { StateMachine } from './state-machine.ts'
import type { LogStore, RecoveredLog } from './storage/log-store.ts'
import type { Peer, RaftTransport } from './transport/transport.ts'

/** What a configuration entry holds, for the state machine; and what a log that was opened says of its cluster. */
export { configurationAfter, decodeConfiguration } from './core/membership.ts'

export type RaftTiming = {
  /** A follower that heard nothing for a random time in [electionMs, 1.5 electionMs) asks for votes. */
  readonly electionMs: number
  /** The timeout follows what heartbeats show, within these, and `electionMs` is the first; null: it stays. */
  readonly adaptive: { readonly minMs: number; readonly maxMs: number } | null
  readonly heartbeatMs: number
}

export type RaftLimits = {
  /** Entries of one AppendRequest. */
  readonly appendBytesMax: number
  /** Unanswered AppendRequests per follower. */
  readonly inflightMessagesMax: number
  readonly inflightBytesMax: number
  /** Proposals are refused with `overloaded` beyond this much uncommitted data. */
  readonly uncommittedBytesMax: number
  /** Entries kept in memory after they are applied, for followers that are a little behind. */
  readonly cacheBytesMax: number
  /** The log is compacted when it is this much longer than what was retained last. */
  readonly compactBytes: number
}

export type RaftNodeOptions = {
  readonly id: ServerId
  readonly timing: RaftTiming
  readonly limits: RaftLimits
  readonly leaseReads: boolean
  readonly log: LogStore
  /** The one that log and state wait at while their disk takes no writes. The node closes it when it stops. */
  readonly gate: DiskGate
  readonly recovered: RecoveredLog
  readonly machine: StateMachine
  readonly transport: RaftTransport
  readonly clock: Clock
  /** Milliseconds since the machine was started, with the time it was suspended. Absent: it never is. */
  readonly bootMs?: () => number
  readonly random: Random
  /**
   * Asks a member to send its state as a snapshot, at index `atLeast` or later: for a server that lost its own. Rejects with
   * what the member answers. Absent: a lost state ends the start.
   */
  readonly requestState?: (member: Member, atLeast: LogIndex) => Promise<void>
  /** Runs a function after the inputs that are already waiting: `setImmediate`, or the simulator's next event. */
  readonly defer: (run: () => void) => void
  readonly logger: Logger
  /** The disk or the state machine failed for good: the owner stops the process. */
  readonly onFatal: (error: unknown) => void
}

export type RaftStatus = {
  readonly id: ServerId
  readonly role: 'follower' | 'preCandidate' | 'candidate' | 'leader'
  readonly term: Term
  readonly leaderId: ServerId | null
  readonly lastIndex: LogIndex
  readonly commitIndex: LogIndex
  readonly appliedIndex: LogIndex
  /** It leads, and its state holds everything that was acknowledged before: it may decide on it. */
  readonly settled: boolean
  /** Leadership is being handed over: nothing is accepted until it worked or failed. */
  readonly transferring: boolean
  /** At present: it may follow what heartbeats show. */
  readonly electionTimeoutMs: number
  readonly configuration: Configuration
  readonly configurationIndex: LogIndex
  /** On the leader: how far each follower is known to be. */
  readonly followers: ReadonlyMap<ServerId, FollowerProgress>
}

export type MembershipChange =
  | { readonly type: 'addLearner'; readonly member: Omit<Member, 'role'> }
  | { readonly type: 'promote'; readonly id: ServerId }
  | { readonly type: 'remove'; readonly id: ServerId }
  /** A known server came back at another address or under another name. */
  | { readonly type: 'readdress'; readonly member: Omit<Member, 'role'> }

/** See `rpc/consensus.ts`. */
export type ProposeOptions = {
  readonly term?: Term | undefined
  readonly lingerMs?: number | undefined
  /** Monotonic: then it is `outcome_unknown`. Absent: it is waited for however long it takes. */
  readonly deadlineMs?: number
}

/** See `rpc/consensus.ts`. */
export type ReadMode = 'linearizable' | 'leader'

export interface Raft {
  start(): Promise<void>
  /** Writes the first configuration into an empty log. Refuses on a log that holds anything. */
  bootstrap(configuration: Configuration): Promise<void>
  /** Servers to answer although no configuration here names them yet: a new server hears its leader before its log tells who that is. */
  introduce(peers: readonly Peer[]): void
  /** Rejects with `not_leader`, `overloaded` (it took no effect and never will) or `outcome_unknown`. */
  propose(
    data: Uint8Array,
    options?: ProposeOptions,
  ): Promise<{ readonly index: LogIndex; readonly outcome: unknown }>
  /** `readBarrier` would resolve at once: this server leads under a lease, and has applied all that is committed. */
  isFresh(mode: ReadMode): boolean
  /** Resolves once the local state is as new as the cluster was at the call; with `cancelled`, if `signal` fired by then. */
  readBarrier(
    mode: ReadMode,
    deadlineMs: number,
    signal?: Pick<AbortSignal, 'aborted'>,
  ): Promise<void>
  /** To `target`, or to the voter that is furthest along. Resolves when another server leads. */
  transferLeadership(target: ServerId | null, deadlineMs: number): Promise<void>
  changeMembership(change: MembershipChange): Promise<void>
  /** Sends this server's state to a member that lost its own. Throws `unavailable` where this one is older than `atLeast`. */
  sendState(to: ServerId, atLeast: LogIndex): void
  status(): RaftStatus
  /** Empty until this server knows its cluster. */
  clusterId(): string
  /** Ids of the clusters that this one was recovered from, oldest first. */
  predecessors(): readonly string[]
  /** Since a leader was last heard; 0 on the leader. */
  lastContactMs(): number
  /** Called on every change of role, term or known leader. Returns the way to stop listening. */
  onChange(listener: (status: RaftStatus) => void): () => void
  stop(): Promise<void>
}
