/**
 * Elections: pre-vote (9.6), vote (3.4), and when a voter may answer.
 *
 * A follower whose timer runs out first asks whether it would win, without raising its term. So a server that was
 * cut off cannot depose a healthy leader on its return. A voter that heard a leader within the least election timeout
 * refuses both questions (4.2.3) unless the leader itself asked for the election (3.10).
 *
 * A dead leader is noticed sooner: when its connection closed and a new one is refused, its followers forget that
 * they heard it and campaign after a short random wait. This is a hint about liveness only, since reads take a quorum
 * round. With `leaseReads` a leader serves reads on its voters' promise, so the hint is not taken.
 *
 * After a start no server was heard yet, and often there is no leader whose silence would have to be waited out: all servers
 * were down. A server campaigns a short random wait after it reached another voter. Where there is a leader, its voters
 * refuse the pre-vote.
 */
import { assert } from '../../lib/assert.ts'
import { becomeLeader } from './leader.ts'
import type {
  PreVoteRequest,
  PreVoteResponse,
  ServerId,
  TimeoutNow,
  VoteRequest,
  VoteResponse,
} from './message.ts'
import { tally } from './quorum.ts'
import {
  becomeFollower,
  diskStalls,
  hearsLeader,
  leaveRole,
  resetElectionDeadline,
  type State,
} from './state.ts'

/** The wait before a quick election: long enough that two followers seldom collide, short against a timeout. */
const quickElectionMs = 60
/** After this many quick attempts the ordinary timeout rules again. */
const quickElectionsMax = 12
/**
 * The wait for the first election after a start. Wide, since servers that were started together are busy with that, and their
 * answers take long: candidates that part are worth more than the fastest one.
 */
const firstElectionMs = { from: 50, to: 300 }

/** The election timer of a follower or candidate ran out. */
export function electionTimeout(state: State): void {
  if (diskStalls(state) || state.installing !== null) {
    resetElectionDeadline(state)
    return
  }
  if (hearsLeader(state)) {
    // The timeout fell meanwhile, or the leader counts on a longer one: a promise binds its giver, too.
    state.electionDeadline = state.promisedUntil
    return
  }
  if (!state.membership.isVoter(state.id)) {
    // It cannot campaign, and knows of no leader: one that was removed hears of none again, and has to notice.
    becomeFollower(state, state.term, null)
    return
  }
  if (state.quickElections > 0) state.quickElections -= 1
  if (state.role.type !== 'follower') state.failedCampaigns += 1
  campaign(state, 'preCandidate')
}

/** The process of `peer` is gone, as far as its sockets tell. */
export function leaderGone(state: State, peer: ServerId): void {
  const { leaderId } = state
  if (state.options.leaseReads || state.role.type !== 'follower' || leaderId !== peer) return
  becomeFollower(state, state.term, null)
  state.promisedUntil = state.now
  if (state.heldPreVote !== null) state.heldPreVote.answerAt = state.now
  state.gone = { id: leaderId, at: state.now }
  state.quickElections = quickElectionsMax
  state.electionDeadline = state.now + quickElectionMs * state.options.random.next()
}

/** A connection to `peer` was made. Once there was a leader or an election since the start, timeouts rule. */
export function peerConnected(state: State, peer: ServerId): void {
  const { role, membership, term, firstTerm, lastLeaderTerm, now, options } = state
  const isFresh = term === firstTerm && lastLeaderTerm === 0 && state.leaderId === null
  if (!isFresh || role.type === 'candidate' || hearsLeader(state)) return
  if (!membership.isVoter(state.id) || !membership.isVoter(peer)) return
  const { from, to } = firstElectionMs
  const soon = now + from + (to - from) * options.random.next()
  state.electionDeadline = Math.min(state.electionDeadline, soon)
}

export function campaign(
  state: State,
  type: 'preCandidate' | 'candidate',
  handover: TimeoutNow | null = null,
): void {
  assert(state.membership.isVoter(state.id), 'only voters campaign')
  leaveRole(state)
  state.leaderId = null
  const answers = new Map<ServerId, boolean>()
  state.role = { type, answers, handover }
  resetCampaignDeadline(state)
  const { lastIndex, lastTerm } = state.log
  if (type === 'preCandidate') {
    answers.set(state.id, true)
    for (const to of otherVoters(state)) {
      const term = state.term + 1
      state.out.send.push({ type: 'preVoteRequest', from: state.id, to, term, lastIndex, lastTerm })
    }
    countAnswers(state)
    return
  }
  state.term += 1
  state.votedFor = state.id
  // The own vote counts, and the others are asked, once term and vote are on disk.
  state.ownVote = state.term
  if (handover?.voted === true) {
    answers.set(handover.from, true)
    if (tally(state.membership.voters, new Map(answers).set(state.id, true)) === 'won') return
  }
  const transfer = handover !== null
  for (const to of otherVoters(state).filter((id) => !answers.has(id))) {
    const { term } = state
    state.out.afterwards.push({
      type: 'voteRequest',
      from: state.id,
      to,
      term,
      lastIndex,
      lastTerm,
      transfer,
    })
  }
}

/**
 * A failed campaign is tried again sooner than a silent leader is doubted: the answers come within a round trip. When they do
 * not, round trips and disks may be slower than leaders are silent, and the next attempt is given twice the time.
 */
function resetCampaignDeadline(state: State): void {
  const { options, patience, quickElections, failedCampaigns } = state
  const longest = Math.max(options.electionMs, patience.ms)
  const wait =
    quickElections > 0
      ? quickElectionMs
      : Math.min(patience.ms * 2 ** Math.min(failedCampaigns, 8), longest) / 3
  state.electionDeadline = state.now + wait * (1 + options.random.next())
}

function otherVoters(state: State): readonly ServerId[] {
  return state.membership.voters.filter((id) => id !== state.id)
}

/** The write that carries the vote for oneself is durable. */
export function ownVotePersisted(state: State, term: number): void {
  if (state.role.type !== 'candidate' || term !== state.term) return
  state.role.answers.set(state.id, true)
  countAnswers(state)
}

/**
 * A follower that still counts on its leader does not refuse a pre-vote that it would grant otherwise: it answers when its own
 * promise ends, unless it heard the leader by then. So the first server that doubts a dead leader becomes the next one, as
 * soon as a majority doubts it as well, and need not ask again.
 */
export function onPreVoteRequest(state: State, request: PreVoteRequest): void {
  const supports = supportsPreVote(state, request)
  if (supports && state.role.type === 'follower' && hearsLeader(state)) {
    state.heldPreVote ??= { request, answerAt: state.promisedUntil }
    return
  }
  answerPreVote(state, request, supports && !hearsLeader(state))
}

/** The promise to a silent leader ended, which is what a pre-vote waited for. */
export function heldPreVoteDue(state: State): void {
  const held = state.heldPreVote
  if (held === null) return
  if (hearsLeader(state)) {
    // The promise was made longer by an old message, or the process was late.
    held.answerAt = state.promisedUntil
    return
  }
  state.heldPreVote = null
  const granted = state.role.type === 'follower' && supportsPreVote(state, held.request)
  if (granted) answerPreVote(state, held.request, true)
}

function supportsPreVote(state: State, { term, lastIndex, lastTerm }: PreVoteRequest): boolean {
  return term > state.term && !state.diskRefuses && state.log.isUpToDate(lastIndex, lastTerm)
}

function answerPreVote(state: State, request: PreVoteRequest, granted: boolean): void {
  if (granted && state.role.type === 'follower') {
    // The server that was granted it comes first.
    const wait = (state.patience.ms / 3) * (1 + state.options.random.next())
    state.electionDeadline = Math.max(state.electionDeadline, state.now + wait)
  }
  state.out.send.push({
    type: 'preVoteResponse',
    from: state.id,
    to: request.from,
    // A grant answers for the term asked about; a refusal tells the own term, so that a server behind catches up.
    term: granted ? request.term : state.term,
    granted,
  })
}

export function onVoteRequest(state: State, request: VoteRequest): void {
  assert(request.term === state.term, 'the term check came first')
  if (state.diskRefuses) return
  const free = state.votedFor === null || state.votedFor === request.from
  const granted =
    free &&
    state.role.type === 'follower' &&
    state.leaderId === null &&
    state.log.isUpToDate(request.lastIndex, request.lastTerm)
  if (granted) {
    state.votedFor = request.from
    resetElectionDeadline(state)
  }
  state.out.afterwards.push({
    type: 'voteResponse',
    from: state.id,
    to: request.from,
    term: state.term,
    granted,
  })
}

export function onPreVoteResponse(state: State, response: PreVoteResponse): void {
  if (state.role.type !== 'preCandidate') return
  if (response.granted && response.term !== state.term + 1) return
  state.role.answers.set(response.from, response.granted)
  countAnswers(state)
}

export function onVoteResponse(state: State, response: VoteResponse): void {
  if (state.role.type !== 'candidate') return
  state.role.answers.set(response.from, response.granted)
  countAnswers(state)
}

function countAnswers(state: State): void {
  const { role } = state
  assert(role.type === 'preCandidate' || role.type === 'candidate', 'answers are for candidates')
  switch (tally(state.membership.voters, role.answers)) {
    case 'won':
      if (role.type === 'preCandidate') campaign(state, 'candidate')
      else becomeLeader(state, role.handover)
      return
    case 'lost': {
      const { electionDeadline } = state
      becomeFollower(state, state.term, null)
      // A loser does not wait longer for its next attempt than a candidate that got no answer.
      state.electionDeadline = electionDeadline
      return
    }
    case 'open':
  }
}
