/**
 * The mutable state of one server's core, and its outbox. The role files (`follower`, `candidate`, `leader`)
 * are functions over it; `core.ts` is the only one that outsiders call.
 */
import type { Random } from '../../lib/random.ts'
import type { RaftLog } from './log.ts'
import type { Membership } from './membership.ts'
import type { Patience, PatienceOptions } from './patience.ts'
import type {
  LogIndex,
  Message,
  PreVoteRequest,
  ServerId,
  SnapshotMeta,
  Term,
  TimeoutNow,
} from './message.ts'
import type { Progress } from './progress.ts'
import type { Fetch, Forgetful, ReadResult } from './ready.ts'

export type CoreOptions = PatienceOptions & {
  readonly heartbeatMs: number
  /** Linearizable reads may trust the lease; then no voter breaks its promise early (see `candidate.ts`). */
  readonly leaseReads: boolean
  readonly appendBytesMax: number
  readonly inflightMessagesMax: number
  readonly inflightBytesMax: number
  readonly uncommittedBytesMax: number
  readonly cacheBytesMax: number
  readonly random: Random
}

/** Reads that wait for one confirmation share it; those that come meanwhile share the next. */
export type LeaderRead =
  | { readonly type: 'own'; readonly id: number; readonly linearizable: boolean }
  | {
      readonly type: 'remote'
      readonly peer: ServerId
      readonly id: number
      readonly linearizable: boolean
    }

export type ReadRound = {
  readonly round: number
  readonly index: LogIndex
  readonly reads: readonly LeaderRead[]
  /** Voters that were not asked, and when they will be. */
  readonly spared: readonly ServerId[]
  readonly widenAt: number
}

export type Transfer = {
  readonly target: ServerId
  readonly deadline: number
}

export type Leader = {
  readonly type: 'leader'
  readonly progress: Map<ServerId, Progress>
  /** The entry this leader began its term with: once committed, everything before it is (3.6.2). */
  readonly noopIndex: LogIndex
  /** Once applied, the state holds all that was ever acknowledged: `noopIndex`, or what the leader before said as it handed over. */
  completeAt: LogIndex
  /** Counts rounds of heartbeats; `roundsSentAt` remembers when the newest ones left. */
  round: number
  readonly roundsSentAt: Map<number, number>
  /** Counts answers that were the first of their follower to a round. */
  acks: number
  nextHeartbeat: number
  /** When a majority had been heard, as of the last tick, and how long ago that was then. */
  quorumContact: number
  quorumSilentMs: number
  /** Reads not yet in a round, and the round under way. */
  waitingReads: LeaderRead[]
  readRound: ReadRound | null
  transfer: Transfer | null
}

/** One question to the leader; it is asked again with the same id when no answer comes. */
export type AskedRead = {
  readonly id: number
  readonly linearizable: boolean
  sentAt: number
  readonly reads: readonly number[]
}

export type Follower = {
  readonly type: 'follower'
  /** Reads asked of the leader in one message, and those that wait for the next. */
  askedReads: AskedRead[]
  waitingReads: { readonly id: number; readonly linearizable: boolean }[]
}

export type Candidate = {
  readonly type: 'preCandidate' | 'candidate'
  readonly answers: Map<ServerId, boolean>
  /** The leader's word that asked for this election. */
  readonly handover: TimeoutNow | null
}

export type Role = Leader | Follower | Candidate

/** Writes handed out and not yet reported durable. */
export type PendingPersist = {
  readonly sequence: number
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
  readonly since: number
  /** The candidate's vote for itself in this term counts once this write is durable. */
  readonly ownVote: Term | null
}

export type Outbox = {
  send: Message[]
  afterwards: Message[]
  reads: ReadResult[]
  fetches: Fetch[]
  snapshots: ServerId[]
  forgetful: Forgetful[]
  install: SnapshotMeta | null
}

export type State = {
  readonly id: ServerId
  readonly options: CoreOptions
  readonly log: RaftLog
  readonly membership: Membership
  /** Monotonic milliseconds, given with every input. */
  now: number
  term: Term
  /** As this server started. */
  readonly firstTerm: Term
  votedFor: ServerId | null
  role: Role
  leaderId: ServerId | null
  /** For how long a silent leader is borne with, and a leader bears with silent followers. */
  readonly patience: Patience
  /** For how long a write of the own disk takes at most, as it was lately. */
  readonly diskPatience: Patience
  /**
   * Until then this server helps to elect no server but the leader it heard (4.2.3); it only rises, unless that leader's process
   * is gone. With lease reads it begins in the future: what this server promised before it was restarted, it cannot know.
   */
  promisedUntil: number
  /** When a leader was last heard, and in which term. */
  lastLeaderContact: number
  lastLeaderTerm: Term
  /** Campaigns in a row that came to nothing. */
  failedCampaigns: number
  electionDeadline: number
  /** A pre-vote that is granted at `answerAt` unless the leader is heard before. */
  heldPreVote: { readonly request: PreVoteRequest; answerAt: number } | null
  /** The leader whose process was seen to be gone, and when. */
  gone: { readonly id: ServerId; readonly at: number } | null
  /** Quick attempts left after the leader's process was seen to be gone. */
  quickElections: number
  appliedIndex: LogIndex
  /** Bytes of own proposals that are not applied yet. */
  unappliedBytes: number
  /** A snapshot is being put in place; appends wait. */
  installing: SnapshotMeta | null
  /**
   * The disk takes no writes for now. Such a server neither leads nor helps to elect, and takes no entries, and answers nothing that waits for
   * its disk: that could be any number of messages by then.
   */
  diskRefuses: boolean
  persistSequence: number
  pendingPersists: PendingPersist[]
  /** Term and vote as last handed to the disk. */
  handedTerm: Term
  handedVote: ServerId | null
  /** The vote for oneself that the next write will carry. */
  ownVote: Term | null
  out: Outbox
}

export function emptyOutbox(): Outbox {
  return {
    send: [],
    afterwards: [],
    reads: [],
    fetches: [],
    snapshots: [],
    forgetful: [],
    install: null,
  }
}

/** A timeout is drawn between once and this many times its length. */
const spreadFactor = 1.5

/**
 * Redraws the election timeout, at random in [T, 1.5 T) and anew each time, so that candidates part (3.4). Half of the paper's
 * range is enough, because a server that granted a pre-vote lets the other one go first.
 */
export function resetElectionDeadline(state: State): void {
  const { patience, now, options } = state
  state.electionDeadline = now + patience.ms * (1 + (spreadFactor - 1) * options.random.next())
}

/**
 * True while this server must not help to elect another leader: it promised so to the one it heard (4.2.3). Without lease
 * reads the promise is not firm: it ends when this server knows of no leader any more.
 */
export function hearsLeader(state: State): boolean {
  const { role, options, now, promisedUntil, leaderId } = state
  if (role.type === 'leader') return true
  return now < promisedUntil && (options.leaseReads || leaderId !== null)
}

/** The disk takes no writes, or has been at one for longer than an election timeout. */
export function diskStalls(state: State): boolean {
  return state.diskRefuses || diskBusyMs(state) > state.options.electionMs
}

/** For how long the oldest write under way has been. */
export function diskBusyMs({ pendingPersists, now }: State): number {
  const oldest = pendingPersists[0]
  return oldest === undefined ? 0 : now - oldest.since
}

/** The one place where a role is left: its waiters are told. */
export function leaveRole(state: State): void {
  const { role } = state
  if (role.type === 'leader') {
    const reads = [...role.waitingReads, ...(role.readRound?.reads ?? [])]
    role.waitingReads = []
    role.readRound = null
    for (const read of reads) answerRead(state, read, null)
  } else if (role.type === 'follower') {
    for (const asked of role.askedReads) {
      for (const id of asked.reads) state.out.reads.push({ id, index: null })
    }
    for (const { id } of role.waitingReads) state.out.reads.push({ id, index: null })
    role.askedReads = []
    role.waitingReads = []
  }
}

/** Tells the reader, here or at a follower, which index to wait for; null: refused. */
export function answerRead(state: State, read: LeaderRead, index: LogIndex | null): void {
  if (read.type === 'own') {
    state.out.reads.push({ id: read.id, index })
    return
  }
  state.out.send.push({
    type: 'readIndexResponse',
    from: state.id,
    to: read.peer,
    term: state.term,
    id: read.id,
    index: index ?? 0,
  })
}

/**
 * Follows `leaderId` (null: no leader known yet) in `term`. The vote is kept when the term stands.
 */
export function becomeFollower(state: State, term: Term, leaderId: ServerId | null): void {
  const sameLeader = state.role.type === 'follower' && state.leaderId === leaderId
  if (!(sameLeader && term === state.term)) {
    leaveRole(state)
    state.role = { type: 'follower', askedReads: [], waitingReads: [] }
  }
  if (term > state.term) {
    state.term = term
    state.votedFor = null
  }
  state.leaderId = leaderId
  resetElectionDeadline(state)
}

/** The commit index only rises. */
export function commitTo(state: State, index: LogIndex): void {
  if (index <= state.log.commitIndex) return
  state.log.commitIndex = index
  state.membership.committed(index)
}
