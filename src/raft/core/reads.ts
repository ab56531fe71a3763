/**
 * Linearizable reads without log entries (6.4): the leader notes its commit index, makes sure that a majority still
 * follows it, and the reader waits until that index is applied. One round serves all reads that came before it, and asks as
 * many followers as make a majority, those that answered last; when one of them is silent, after a while the others too.
 *
 * A read that may trust the lease (6.4.1) is answered at once while a majority has promised to elect no other server. Each promise
 * carries its length, since timeouts differ between servers, and is counted from when its question was *sent*.
 */
import { beginRound, sendHeartbeats } from './heartbeat.ts'
import type {
  AppendResponse,
  HeartbeatResponse,
  LogIndex,
  ReadIndexRequest,
  ReadIndexResponse,
  ServerId,
} from './message.ts'
import type { Progress } from './progress.ts'
import { majorityOf, reachedByMajority } from './quorum.ts'
import { answerRead, type Follower, type Leader, type LeaderRead, type State } from './state.ts'

/** What is left of a promise after clocks that run differently. */
const leaseShare = 0.8
/** A round that is not over by this part of a heartbeat's interval asks everybody. */
const patienceShare = 0.2
/** A question to the leader that got no answer is asked again after this many heartbeats. */
const askAgainHeartbeats = 3
/** Reads of one follower that are in question at once; those beyond it wait for the next message. */
const askedMax = 2

/** A follower asks at most `askedMax` questions at a time, again and again; beyond this another follower asks. */
const waitingReadsMax = 65_536

/** This server wants to read. The answer comes in `Ready.reads`. */
export function read(state: State, id: number, linearizable: boolean): void {
  const { role } = state
  switch (role.type) {
    case 'leader':
      leaderRead(state, role, { type: 'own', id, linearizable })
      return
    case 'follower':
      if (state.leaderId === null) state.out.reads.push({ id, index: null })
      else role.waitingReads.push({ id, linearizable })
      return
    default:
      state.out.reads.push({ id, index: null })
  }
}

export function onReadIndexRequest(state: State, request: ReadIndexRequest): void {
  const { from: peer, id, linearizable } = request
  const read: LeaderRead = { type: 'remote', peer, id, linearizable }
  if (state.role.type === 'leader') leaderRead(state, state.role, read)
  else answerRead(state, read, null)
}

function leaderRead(state: State, leader: Leader, read: LeaderRead): void {
  // The commit index is to be trusted only after an entry of the own term is committed.
  const settled = state.log.commitIndex >= leader.noopIndex
  const confirmed =
    (trustsLease(state, read.linearizable) && holdsLease(state, leader)) ||
    (read.type === 'remote' && confirmsByAsking(state, read.peer))
  if (settled && confirmed) {
    answerRead(state, read, state.log.commitIndex)
  } else if (read.type === 'remote' && leader.waitingReads.length >= waitingReadsMax) {
    answerRead(state, read, null)
  } else {
    leader.waitingReads.push(read)
  }
}

/**
 * Whether the question of a follower is all the confirmation it needs. When it was sent, which is after the reads it is for
 * began, its sender had voted in no later term. Nor has this server, and where no majority is without both, no server led then.
 */
function confirmsByAsking({ id: self, membership }: State, peer: ServerId): boolean {
  const { voters } = membership
  return membership.isVoter(self) && membership.isVoter(peer) && majorityOf(voters.length) <= 2
}

/** Whether a lease is enough for such a read. */
export function trustsLease({ options }: State, linearizable: boolean): boolean {
  return !linearizable || options.leaseReads
}

/** Whether no other leader can have been elected yet. Judged by the present time, never remembered. */
export function holdsLease(state: State, leader: Leader): boolean {
  const until = reachedByMajority(
    state.membership.voters.map((id) =>
      id === state.id ? Infinity : (leader.progress.get(id)?.leaseUntil ?? 0),
    ),
  )
  return state.now < until
}

/** A follower answered a round that was sent at `sentAt`: what it promised with that extends the lease. */
export function extendLease(
  { options }: State,
  progress: Progress,
  { promiseMs = 0, firm = false }: AppendResponse | HeartbeatResponse,
  sentAt: number,
): void {
  // A promise that a mere hint may end is not enough for linearizable reads.
  if (options.leaseReads && !firm) return
  progress.leaseUntil = Math.max(progress.leaseUntil, sentAt + promiseMs * leaseShare)
}

/** Answers to what was sent until now extend no lease either. */
export function voidLease(leader: Leader): void {
  leader.roundsSentAt.clear()
  for (const progress of leader.progress.values()) progress.leaseUntil = 0
}

/** Starts the round for the reads that wait, unless one is under way. Called once after all inputs of a turn. */
export function startReadRound(state: State, leader: Leader): void {
  if (leader.readRound !== null || leader.waitingReads.length === 0) return
  if (state.log.commitIndex < leader.noopIndex) return
  const reads = leader.waitingReads
  leader.waitingReads = []
  beginRound(state, leader)
  const [asked, spared] = divideVoters(state, leader)
  sendHeartbeats(state, leader, asked)
  const widenAt = state.now + state.options.heartbeatMs * patienceShare
  const index = state.log.commitIndex
  leader.readRound = { round: leader.round, index, reads, spared, widenAt }
  readsConfirmed(state, leader)
}

/** The followers whose answers make a majority, as far as their last ones tell, and the rest. */
function divideVoters(
  { id: self, membership }: State,
  { progress }: Leader,
): [asked: ServerId[], spared: ServerId[]] {
  const others = [...progress]
    .filter(([id]) => membership.isVoter(id))
    .sort(
      ([, left], [, right]) =>
        right.ackedRound - left.ackedRound || left.ackedOrder - right.ackedOrder,
    )
    .map(([id]) => id)
  const needed = majorityOf(membership.voters.length) - (membership.isVoter(self) ? 1 : 0)
  return [others.slice(0, needed), others.slice(needed)]
}

/** A voter that was asked is slow, or gone: the leader asks the others too. */
export function widenReadRound(state: State, leader: Leader): void {
  const { readRound } = leader
  if (readRound === null || state.now < readRound.widenAt) return
  sendHeartbeats(state, leader, readRound.spared)
  leader.readRound = { ...readRound, spared: [], widenAt: Infinity }
}

/** Ends the round if a majority answered it. */
export function readsConfirmed(state: State, leader: Leader): void {
  const { readRound } = leader
  if (readRound === null) return
  const reached = reachedByMajority(
    state.membership.voters.map((id) =>
      id === state.id ? leader.round : (leader.progress.get(id)?.ackedRound ?? 0),
    ),
  )
  if (reached < readRound.round) return
  leader.readRound = null
  for (const read of readRound.reads) answerRead(state, read, readRound.index)
}

/** A follower asks for all reads that came in this turn with one message. */
export function askLeader(state: State, follower: Follower): void {
  if (state.leaderId === null || follower.waitingReads.length === 0) return
  if (follower.askedReads.length >= askedMax) return
  const linearizable = follower.waitingReads.some((read) => read.linearizable)
  const reads = follower.waitingReads.map((read) => read.id)
  const id = reads[0] ?? 0
  follower.waitingReads = []
  follower.askedReads.push({ id, linearizable, sentAt: state.now, reads })
  sendQuestion(state, id, linearizable)
}

function sendQuestion(state: State, id: number, linearizable: boolean): void {
  if (state.leaderId === null) return
  const { term, leaderId: to } = state
  state.out.send.push({ type: 'readIndexRequest', from: state.id, to, term, id, linearizable })
}

export function askAgain(state: State, follower: Follower): void {
  for (const asked of follower.askedReads) {
    if (state.now - asked.sentAt < state.options.heartbeatMs * askAgainHeartbeats) continue
    asked.sentAt = state.now
    sendQuestion(state, asked.id, asked.linearizable)
  }
}

export function onReadIndexResponse(state: State, response: ReadIndexResponse): void {
  const { role } = state
  if (role.type !== 'follower') return
  const asked = role.askedReads.find((candidate) => candidate.id === response.id)
  if (asked === undefined) return
  role.askedReads = role.askedReads.filter((candidate) => candidate !== asked)
  const index: LogIndex | null = response.index === 0 ? null : response.index
  for (const id of asked.reads) state.out.reads.push({ id, index })
}
