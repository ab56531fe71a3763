/**
 * Raft as a machine over values: inputs in, `Ready` out. It never waits and never looks at a clock:
 * every input carries the time, and randomness comes from the `Random` it was given.
 *
 * The owner gives inputs in any number, then takes one `Ready` and performs it: `send` at once, `persist` in order.
 * Ready is the only output; what is not in it did not happen.
 */
import { assert, assertNever } from '../../lib/assert.ts'
import {
  electionTimeout,
  heldPreVoteDue,
  leaderGone,
  onPreVoteRequest,
  onPreVoteResponse,
  onVoteRequest,
  onVoteResponse,
  ownVotePersisted,
  peerConnected,
} from './candidate.ts'
import { diskRefuses } from './disk.ts'
import {
  onAppendRequest,
  onHeartbeat,
  onTimeoutNow,
  snapshotInstalled,
  snapshotReceived,
} from './follower.ts'
import { diskLags, doubtsAt, transfer, type Refusal } from './handover.ts'
import {
  changeMembership,
  fetched,
  leaderTick,
  maybeCommit,
  onAppendResponse,
  onHeartbeatResponse,
  propose,
  replicate,
  snapshotSent,
  wantedFrom,
  type ProposeResult,
} from './leader.ts'
import { bytesOf, type RaftLog } from './log.ts'
import { type Change, type Membership, encodeConfiguration } from './membership.ts'
import type {
  Configuration,
  Entry,
  HardState,
  LogIndex,
  Message,
  ServerId,
  SnapshotMeta,
  Term,
} from './message.ts'
import {
  askAgain,
  askLeader,
  holdsLease,
  onReadIndexRequest,
  onReadIndexResponse,
  read,
  startReadRound,
  trustsLease,
  voidLease,
} from './reads.ts'
import type { FollowerProgress } from './progress.ts'
import type { Persist, Ready } from './ready.ts'
import { refuseUntrue } from './refusal.ts'
import { stateOf, type CoreStart } from './start.ts'
import {
  becomeFollower,
  diskStalls,
  emptyOutbox,
  hearsLeader,
  type CoreOptions,
  type State,
} from './state.ts'

export class RaftCore {
  readonly #state: State

  constructor(id: ServerId, options: CoreOptions, start: CoreStart, now: number) {
    this.#state = stateOf(id, options, start, now)
  }

  // --- what it is ---

  get role(): 'follower' | 'preCandidate' | 'candidate' | 'leader' {
    return this.#state.role.type
  }
  get term(): Term {
    return this.#state.term
  }
  get leaderId(): ServerId | null {
    return this.#state.leaderId
  }
  get log(): RaftLog {
    return this.#state.log
  }
  get membership(): Membership {
    return this.#state.membership
  }
  get lastLeaderContact(): number {
    return this.#state.lastLeaderContact
  }
  /** The election timeout at present. */
  get patienceMs(): number {
    return this.#state.patience.ms
  }
  /** The own disk has been at a write for longer than a leader may wait for it. */
  get diskStalls(): boolean {
    return diskStalls(this.#state) || diskLags(this.#state)
  }
  /** A received snapshot is being put in place. */
  get installing(): boolean {
    return this.#state.installing !== null
  }
  get transferring(): boolean {
    const { role } = this.#state
    return role.type === 'leader' && role.transfer !== null
  }
  /** On a leader, null elsewhere: once this is applied the state holds all that was ever acknowledged. */
  get completeAt(): LogIndex | null {
    const { role } = this.#state
    return role.type === 'leader' ? role.completeAt : null
  }
  /** What may be applied: committed, and on this server's own disk, so that its state never runs ahead of its log. */
  get applicableIndex(): LogIndex {
    return Math.min(this.#state.log.commitIndex, this.#state.log.persistedIndex)
  }
  /** As it stands now, for a log that starts over after a snapshot. */
  get hardState(): HardState {
    const { term, votedFor, log } = this.#state
    return { term, votedFor, commitIndex: log.commitIndex }
  }
  /** On the leader, per follower; empty elsewhere. */
  get followers(): ReadonlyMap<ServerId, FollowerProgress> {
    const { role } = this.#state
    return role.type === 'leader' ? role.progress : new Map()
  }
  /** When `tick` has something to do next. */
  get nextDeadline(): number {
    const { role, electionDeadline, heldPreVote, options, now } = this.#state
    if (role.type === 'leader') {
      const doubtsAtMs = doubtsAt(this.#state, role)
      return Math.min(role.nextHeartbeat, role.readRound?.widenAt ?? Infinity, doubtsAtMs)
    }
    const deadline = Math.min(electionDeadline, heldPreVote?.answerAt ?? Infinity)
    if (role.type === 'follower' && role.askedReads.length > 0) {
      return Math.min(deadline, now + options.heartbeatMs)
    }
    return deadline
  }

  // --- inputs ---

  /** Time passed. `late`: the owner was held up for long; waiting messages are handled before any peer is declared silent. */
  tick(now: number, late: boolean): void {
    const state = this.#at(now)
    const { role } = state
    if (role.type === 'leader') {
      leaderTick(state, role, late)
      return
    }
    if (role.type === 'follower') askAgain(state, role)
    const { heldPreVote } = state
    if (now < Math.min(state.electionDeadline, heldPreVote?.answerAt ?? Infinity)) return
    if (late) {
      const againAt = now + state.options.heartbeatMs * (1 + state.options.random.next())
      state.electionDeadline = Math.max(state.electionDeadline, againAt)
      if (heldPreVote !== null) heldPreVote.answerAt = againAt
      return
    }
    if (heldPreVote !== null && now >= heldPreVote.answerAt) heldPreVoteDue(state)
    if (now < state.electionDeadline) return
    electionTimeout(state)
  }

  /** Throws MusterError `corrupt`, with nothing changed, for a message that cannot be true: see `refusal.ts`. */
  message(message: Message, now: number): void {
    const state = this.#at(now)
    refuseUntrue(state, message)
    if (message.term > state.term) {
      if (!this.#riseTo(message)) return
    } else if (message.term < state.term) {
      this.#answerOld(message)
      return
    }
    this.#dispatch(message)
  }

  propose(data: Uint8Array, now: number, term: Term | null = null): ProposeResult {
    return propose(this.#at(now), data, term)
  }

  changeMembership(change: Change, now: number): ProposeResult {
    return changeMembership(this.#at(now), change)
  }

  /** Null: begun. `Ready` and later messages carry it on. */
  transfer(target: ServerId | null, now: number): Refusal | null {
    return transfer(this.#at(now), target)
  }

  /** The first configuration of a new cluster; written by exactly one of its servers, into an empty log. */
  bootstrap(configuration: Configuration, now: number): void {
    const state = this.#at(now)
    assert(state.log.lastIndex === 0, 'only an empty log is bootstrapped')
    assert(state.term === 0, 'only a server that never voted is bootstrapped')
    const data = encodeConfiguration(configuration)
    const entry: Entry = { index: 1, term: 1, kind: 'configuration', data }
    state.term = 1
    state.log.append(entry)
    state.membership.appended(entry)
    state.electionDeadline = now
  }

  read(id: number, linearizable: boolean, now: number): void {
    read(this.#at(now), id, linearizable)
  }

  /** The index of a read that needs no message: this server leads and its lease, if it may be trusted, holds. */
  readNow(linearizable: boolean, now: number): LogIndex | null {
    const state = this.#at(now)
    const { role, log } = state
    if (role.type !== 'leader' || log.commitIndex < role.noopIndex) return null
    if (!trustsLease(state, linearizable)) return null
    return holdsLease(state, role) ? log.commitIndex : null
  }

  /** Whether a lease, if this server holds one, answers such a read at once. */
  trustsLease(linearizable: boolean): boolean {
    return this.#state.role.type === 'leader' && trustsLease(this.#state, linearizable)
  }

  /** All writes up to `sequence` are durable. */
  persisted(sequence: number, now: number): void {
    const state = this.#at(now)
    const before = state.log.persistedIndex
    const ownVotes: Term[] = []
    for (;;) {
      const oldest = state.pendingPersists[0]
      if (oldest === undefined || oldest.sequence > sequence) break
      state.pendingPersists.shift()
      state.log.persisted(oldest.lastIndex, oldest.lastTerm)
      if (oldest.ownVote !== null) ownVotes.push(oldest.ownVote)
      state.diskPatience.observe(now - oldest.since, now)
    }
    for (const term of ownVotes) ownVotePersisted(state, term)
    if (state.log.persistedIndex > before) maybeCommit(state)
  }

  /** The state machine is at `index`; `entries` are those that brought it there. */
  applied(entries: readonly Entry[], now: number): void {
    const state = this.#at(now)
    const last = entries.at(-1)
    if (last === undefined) return
    assert(last.index <= this.applicableIndex, 'only what is committed and durable is applied')
    state.appliedIndex = last.index
    if (state.role.type === 'leader') {
      for (const entry of entries) {
        if (entry.index >= state.role.noopIndex) state.unappliedBytes -= bytesOf(entry)
      }
    }
    state.log.shrink(wantedFrom(state), state.options.cacheBytesMax)
  }

  fetched(peer: ServerId, term: Term, entries: readonly Entry[], now: number): void {
    fetched(this.#at(now), term, peer, entries)
  }

  snapshotSent(peer: ServerId, index: LogIndex, ok: boolean, now: number): void {
    snapshotSent(this.#at(now), peer, index, ok)
  }

  snapshotReceived(from: ServerId, term: Term, meta: SnapshotMeta, now: number): void {
    snapshotReceived(this.#at(now), from, term, meta)
  }

  snapshotInstalled(meta: SnapshotMeta, now: number): void {
    snapshotInstalled(this.#at(now), meta)
  }

  compacted(index: LogIndex, term: Term, now: number): void {
    this.#at(now).log.compacted(index, term)
  }

  /** This machine was suspended, while the others' clocks went on: no lease from before proves anything. */
  suspended(now: number): void {
    const state = this.#at(now)
    if (state.role.type === 'leader') voidLease(state.role)
  }

  diskRefuses(refuses: boolean, now: number): void {
    diskRefuses(this.#at(now), refuses)
  }

  /** The process of `peer` is gone, as far as its sockets tell. */
  peerGone(peer: ServerId, now: number): void {
    leaderGone(this.#at(now), peer)
  }

  /** What this server sends to `peer` reaches it again, or for the first time. */
  peerConnected(peer: ServerId, now: number): void {
    peerConnected(this.#at(now), peer)
  }

  // --- output ---

  takeReady(now: number): Ready {
    const state = this.#at(now)
    const { role } = state
    if (role.type === 'leader') {
      startReadRound(state, role)
      replicate(state, role)
    } else if (role.type === 'follower') {
      askLeader(state, role)
    }
    const persist = this.#takePersist()
    const { send, reads, fetches, snapshots, forgetful, install } = state.out
    state.out = emptyOutbox()
    return { send, persist, reads, fetches, snapshots, forgetful, install }
  }

  #takePersist(): Persist | null {
    const state = this.#state
    const afterwards = state.out.afterwards
    const hardStateChanged = state.term !== state.handedTerm || state.votedFor !== state.handedVote
    if (!hardStateChanged && !state.log.hasWrites() && afterwards.length === 0) return null
    const { truncateFrom, entries } = state.log.takeWrites()
    const { commitIndex } = state.log
    state.persistSequence += 1
    state.pendingPersists.push({
      sequence: state.persistSequence,
      lastIndex: state.log.lastIndex,
      lastTerm: state.log.lastTerm,
      since: state.now,
      ownVote: state.ownVote,
    })
    state.ownVote = null
    state.handedTerm = state.term
    state.handedVote = state.votedFor
    const hardState: HardState | null = hardStateChanged
      ? { term: state.term, votedFor: state.votedFor, commitIndex }
      : null
    return {
      sequence: state.persistSequence,
      write: { truncateFrom, entries, hardState },
      afterwards,
    }
  }

  #at(now: number): State {
    assert(now >= this.#state.now, 'time does not go back')
    this.#state.now = now
    return this.#state
  }

  /** A message of a later term. False: it is not to be handled further. */
  #riseTo(message: Message): boolean {
    const state = this.#state
    switch (message.type) {
      case 'preVoteRequest':
        return true
      case 'preVoteResponse':
        // A grant names a term that no server is in yet.
        if (message.granted) return true
        becomeFollower(state, message.term, null)
        return false
      case 'voteRequest':
        // Removed and cut-off servers must not disturb a leader that is heard (4.2.3).
        if (!message.transfer && hearsLeader(state)) return false
        becomeFollower(state, message.term, null)
        return true
      case 'appendRequest':
      case 'heartbeat':
        becomeFollower(state, message.term, message.from)
        return true
      default:
        becomeFollower(state, message.term, null)
        return true
    }
  }

  /** A message of an earlier term: a server that still leads or campaigns there is told the present one. */
  #answerOld(message: Message): void {
    const { id: from, term, out, diskRefuses } = this.#state
    const to = message.from
    if (diskRefuses) return
    switch (message.type) {
      case 'appendRequest':
      case 'heartbeat':
        out.afterwards.push({ type: 'heartbeatResponse', from, to, term, round: 0 })
        return
      case 'preVoteRequest':
        out.afterwards.push({ type: 'preVoteResponse', from, to, term, granted: false })
        return
      case 'voteRequest':
        out.afterwards.push({ type: 'voteResponse', from, to, term, granted: false })
        return
      default:
    }
  }

  #dispatch(message: Message): void {
    const state = this.#state
    const { role } = state
    switch (message.type) {
      case 'preVoteRequest':
        return onPreVoteRequest(state, message)
      case 'preVoteResponse':
        return onPreVoteResponse(state, message)
      case 'voteRequest':
        return onVoteRequest(state, message)
      case 'voteResponse':
        return onVoteResponse(state, message)
      case 'appendRequest':
        return onAppendRequest(state, message)
      case 'heartbeat':
        return onHeartbeat(state, message)
      case 'appendResponse':
        if (role.type === 'leader') onAppendResponse(state, role, message)
        return
      case 'heartbeatResponse':
        if (role.type === 'leader') onHeartbeatResponse(state, role, message)
        return
      case 'timeoutNow':
        return onTimeoutNow(state, message)
      case 'readIndexRequest':
        return onReadIndexRequest(state, message)
      case 'readIndexResponse':
        return onReadIndexResponse(state, message)
      default:
        return assertNever(message)
    }
  }
}
