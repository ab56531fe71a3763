/**
 * What a follower does with what its leader sends (3.5, and 7 for snapshots).
 */
import { assert, AssertionError } from '../../lib/assert.ts'
import type {
  AppendRequest,
  Entry,
  Heartbeat,
  LogIndex,
  Promised,
  ServerId,
  SnapshotMeta,
  Term,
  TimeoutNow,
} from './message.ts'
import { campaign } from './candidate.ts'
import { becomeFollower, commitTo, type State } from './state.ts'

/** A message that only the leader of this term sends. */
function heardLeader(state: State, { from, asksPromise }: Heartbeat | AppendRequest): Promised {
  assert(state.role.type !== 'leader', 'a term has one leader')
  if (isLastWord(state, from)) return {}
  contactWithLeader(state, from)
  const { patience, options, now } = state
  // A leader that does not ask counts on the timeout of its configuration, which is this one's, or was before there were others.
  const promiseMs = asksPromise === true ? patience.ms : Math.max(patience.ms, options.electionMs)
  state.promisedUntil = Math.max(state.promisedUntil, now + promiseMs)
  return asksPromise === true ? { promiseMs, firm: options.leaseReads } : {}
}

function contactWithLeader(state: State, from: ServerId): void {
  const { now, term, patience } = state
  if (state.lastLeaderTerm === term) patience.observe(now - state.lastLeaderContact, now)
  becomeFollower(state, term, from)
  state.lastLeaderContact = now
  state.lastLeaderTerm = term
  state.heldPreVote = null
  state.quickElections = 0
  state.failedCampaigns = 0
}

/**
 * What a dead process sent last may be read after its sockets were seen to close. It is taken for what it says, not for
 * a sign of life: a live leader is heard again within a heartbeat.
 */
function isLastWord({ gone, now, options, role }: State, from: ServerId): boolean {
  const waits = role.type === 'follower' || role.type === 'preCandidate'
  return waits && gone?.id === from && now - gone.at < options.heartbeatMs
}

export function onHeartbeat(state: State, heartbeat: Heartbeat): void {
  const { from, commitIndex, round } = heartbeat
  const promise = heardLeader(state, heartbeat)
  // The leader caps this at what it knows to be in this log.
  if (state.installing === null) commitTo(state, Math.min(commitIndex, state.log.lastIndex))
  if (round === 0) return
  const { id, term } = state
  state.out.send.push({ type: 'heartbeatResponse', from: id, to: from, term, round, ...promise })
}

export function onAppendRequest(state: State, request: AppendRequest): void {
  const promise = heardLeader(state, request)
  if (state.installing !== null || state.diskRefuses) return
  const { log } = state
  if (request.prevIndex < log.commitIndex) {
    // All of it up to the commit index is the same in every log.
    assertSameHistory(state, request)
    acknowledge(state, request, promise, log.commitIndex)
    return
  }
  if (log.termAt(request.prevIndex) !== request.prevTerm) {
    reject(state, request, promise)
    return
  }
  const matchIndex = request.prevIndex + request.entries.length
  const firstNew = request.entries.findIndex((entry) => log.termAt(entry.index) !== entry.term)
  if (firstNew !== -1) appendFrom(state, request.entries.slice(firstNew))
  // Only what this message matched: entries behind it may be another leader's.
  commitTo(state, Math.min(request.commitIndex, matchIndex))
  acknowledge(state, request, promise, matchIndex)
}

/** Otherwise a server lost what it had acknowledged, and this one must not confirm the other history. */
function assertSameHistory({ log }: State, request: AppendRequest): void {
  const told = [{ index: request.prevIndex, term: request.prevTerm }, ...request.entries]
  for (const { index, term } of told) {
    const known = index <= log.commitIndex ? (log.termAt(index) ?? term) : term
    if (known === term) continue
    throw new AssertionError(
      `entry ${index} is committed here with term ${known} and at the leader ${request.from} with term ${term}: a server lost its log and kept its id`,
    )
  }
}

/** Only a real conflict cuts the log: an old message whose entries are all there leaves what follows them alone. */
function appendFrom(state: State, entries: readonly Entry[]): void {
  const { log, membership } = state
  const first = entries[0]
  if (first !== undefined && first.index <= log.lastIndex) {
    log.truncate(first.index)
    membership.truncated(first.index)
    withdrawAcknowledgements(state, first.index)
  }
  for (const entry of entries) {
    log.append(entry)
    if (entry.kind === 'configuration') membership.appended(entry)
  }
}

/**
 * What one batch of messages appends and cuts off again never reaches the disk, so it is not acknowledged either (3.8). The
 * write queue does the same for units that are already handed out.
 */
function withdrawAcknowledgements({ out }: State, from: LogIndex): void {
  out.afterwards = out.afterwards.filter(
    (message) => message.type !== 'appendResponse' || !message.ok || message.matchIndex < from,
  )
}

/** Leaves after the write that it speaks of, and after all that came before. */
function acknowledge(
  state: State,
  request: AppendRequest,
  promise: Promised,
  matchIndex: LogIndex,
): void {
  state.out.afterwards.push({
    type: 'appendResponse',
    from: state.id,
    to: request.from,
    term: state.term,
    round: request.round,
    ...promise,
    ok: true,
    matchIndex,
  })
}

function reject(state: State, request: AppendRequest, promise: Promised): void {
  const { log } = state
  const hintIndex = log.latestNotAbove(request.prevIndex, request.prevTerm)
  state.out.send.push({
    type: 'appendResponse',
    from: state.id,
    to: request.from,
    term: state.term,
    round: request.round,
    ...promise,
    ok: false,
    rejectedIndex: request.prevIndex,
    hintIndex,
    hintTerm: log.termAt(hintIndex) ?? 0,
  })
}

/** The leader hands over: campaign at once, without asking first. */
export function onTimeoutNow(state: State, message: TimeoutNow): void {
  if (state.role.type !== 'follower' || !state.membership.isVoter(state.id)) return
  if (state.installing !== null || state.diskRefuses) return
  const { from, term, lastIndex, voted, acknowledgedIndex } = message
  const holdsAll = lastIndex === 0 || state.log.termAt(lastIndex) === term
  if (state.leaderId !== from || !holdsAll) return
  if (voted) commitTo(state, acknowledgedIndex)
  campaign(state, 'candidate', message)
}

/** A snapshot from the leader of `term` is staged whole. */
export function snapshotReceived(
  state: State,
  from: ServerId,
  term: Term,
  meta: SnapshotMeta,
): void {
  if (term < state.term || (term === state.term && state.role.type === 'leader')) return
  becomeFollower(state, term, from)
  state.lastLeaderContact = state.now
  state.lastLeaderTerm = term
  if (state.installing !== null || meta.index <= state.log.commitIndex) return
  if (state.log.termAt(meta.index) === meta.term) {
    // The log holds all of it already, and behind it perhaps entries that were acknowledged: none of those may go (7).
    commitTo(state, meta.index)
    return
  }
  state.installing = meta
  state.out.install = meta
}

/** The state and the durable log now stand at `meta`. */
export function snapshotInstalled(state: State, meta: SnapshotMeta): void {
  assert(state.installing !== null, 'an install was asked for')
  assert(state.installing.index === meta.index, 'the install that was asked for is done')
  state.installing = null
  state.log.reset(meta.index, meta.term)
  state.membership.replaced({
    index: meta.configurationIndex,
    configuration: meta.configuration,
  })
  state.pendingPersists = []
  state.appliedIndex = Math.max(state.appliedIndex, meta.index)
  if (state.leaderId === null) return
  state.out.afterwards.push({
    type: 'appendResponse',
    from: state.id,
    to: state.leaderId,
    term: state.term,
    round: 0,
    ok: true,
    matchIndex: meta.index,
  })
}
