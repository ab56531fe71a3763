/**
 * The pure core of consensus: no I/O, no clock, no randomness, no promise. It may import only `lib`.
 *
 * This file holds the words of the protocol: entries, configurations, and the messages between servers.
 * Figures in brackets name sections of Ongaro's thesis, "Consensus: Bridging Theory and Practice".
 */

/** Terms and indexes are plain numbers below 2^53: arithmetic on them is everywhere. 0 means "none yet". */
export type Term = number
export type LogIndex = number

/** The id in a server's data folder (a UUID). A server that lost its disk is a new server with a new id. */
export type ServerId = string

export type EntryKind = 'noop' | 'command' | 'configuration'

export type Entry = {
  readonly index: LogIndex
  readonly term: Term
  readonly kind: EntryKind
  /** A command of the state machine, an encoded configuration, or empty. The core looks at its length only. */
  readonly data: Uint8Array
}

/** What must be on disk before anything that depends on it leaves (3.8). */
export type HardState = {
  readonly term: Term
  readonly votedFor: ServerId | null
  /** A hint that saves a restart some waiting; never ahead of what is known committed. */
  readonly commitIndex: LogIndex
}

export type Member = {
  readonly id: ServerId
  readonly name: string
  /** host:port of the RPC listener. */
  readonly address: string
  /** A learner gets entries and does not count (4.2.1). */
  readonly role: 'voter' | 'learner'
}

/** A cluster's membership. It is in force from the moment its entry is appended (4.1). */
export type Configuration = {
  /** Chosen once, when the cluster is bootstrapped or recovered; servers of another cluster are refused by it. */
  readonly clusterId: string
  readonly members: readonly Member[]
  /** Only of a cluster that was recovered from others. */
  readonly succession?: Succession
}

/** See `succession.ts`. */
export type Succession = {
  /** Ids of the clusters that this one took the place of, oldest first. */
  readonly predecessors: readonly string[]
  /** The entry that the successor began with; 0 until its first leader wrote one. */
  readonly beginsAt: LogIndex
}

/** What a snapshot stands for: the state after `index`, and the configuration in force there. */
export type SnapshotMeta = {
  readonly index: LogIndex
  readonly term: Term
  readonly configuration: Configuration
  /** The index of the entry that brought `configuration`, not above `index`. */
  readonly configurationIndex: LogIndex
}

type Envelope = {
  readonly from: ServerId
  readonly to: ServerId
  /** The sender's term; for pre-votes the term it would campaign in. */
  readonly term: Term
}

export type PreVoteRequest = Envelope & {
  readonly type: 'preVoteRequest'
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
}

export type PreVoteResponse = Envelope & {
  readonly type: 'preVoteResponse'
  readonly granted: boolean
}

export type VoteRequest = Envelope & {
  readonly type: 'voteRequest'
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
  /** Set when the leader itself asked for this election: voters answer although they hear the leader (3.10). */
  readonly transfer: boolean
}

export type VoteResponse = Envelope & {
  readonly type: 'voteResponse'
  readonly granted: boolean
}

/**
 * A follower that takes a leader's message promises to elect no other server for a while, and its answer says for how long.
 * Both fields are absent in messages of earlier programs: those leaders count on the timeout of their own configuration.
 */
export type Promised = {
  /** From the arrival of what this answers; absent or 0: nothing is promised. */
  readonly promiseMs?: number
  /** No sign that the leader's process is gone ends the promise early. */
  readonly firm?: boolean
}

export type AppendRequest = Envelope & {
  readonly type: 'appendRequest'
  readonly prevIndex: LogIndex
  readonly prevTerm: Term
  readonly entries: readonly Entry[]
  readonly commitIndex: LogIndex
  /** Counts the leader's broadcasts; comes back in the answer and proves that the answer is recent. */
  readonly round: number
  readonly asksPromise?: true
}

export type AppendResponse = Envelope & {
  readonly type: 'appendResponse'
  readonly round: number
} & Promised &
  (
    | { readonly ok: true; readonly matchIndex: LogIndex }
    | {
        readonly ok: false
        /** The prevIndex that did not match. */
        readonly rejectedIndex: LogIndex
        /** Where the leader should look next: the last index not above `rejectedIndex` whose term is not above the leader's prevTerm. */
        readonly hintIndex: LogIndex
        readonly hintTerm: Term
      }
  )

/** Sent on a timer and for read rounds: says "I lead", carries no entries and asks no log question. */
export type Heartbeat = Envelope & {
  readonly type: 'heartbeat'
  /** Never above what this follower is known to hold. */
  readonly commitIndex: LogIndex
  readonly round: number
  readonly asksPromise?: true
}

export type HeartbeatResponse = Envelope &
  Promised & {
    readonly type: 'heartbeatResponse'
    readonly round: number
  }

/** Leadership transfer: campaign now (3.10). */
export type TimeoutNow = Envelope & {
  readonly type: 'timeoutNow'
  /** The sender's last entry, which is of its term: a target that lacks it would lose and does not campaign. 0: it may, whatever it holds. */
  readonly lastIndex: LogIndex
  /** The sender led in `term`. It is in the next one, where the target has its vote, on its disk. */
  readonly voted: boolean
  /** With the vote: nothing above this was ever acknowledged. 0: not known. */
  readonly acknowledgedIndex: LogIndex
}

/** A follower asks the leader for an index that is safe to read at (6.4). `id` is the follower's own counter. */
export type ReadIndexRequest = Envelope & {
  readonly type: 'readIndexRequest'
  readonly id: number
  /** False: the leader may answer from its lease, without a round to the others. */
  readonly linearizable: boolean
}

export type ReadIndexResponse = Envelope & {
  readonly type: 'readIndexResponse'
  readonly id: number
  /** 0: refused (not leader, or nothing of its own term committed yet); ask again. */
  readonly index: LogIndex
}

export type Message =
  | PreVoteRequest
  | PreVoteResponse
  | VoteRequest
  | VoteResponse
  | AppendRequest
  | AppendResponse
  | Heartbeat
  | HeartbeatResponse
  | TimeoutNow
  | ReadIndexRequest
  | ReadIndexResponse
