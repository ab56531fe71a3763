/**
 * What a leader does: replication (3.5), commitment (3.6.2), check-quorum (6.2), membership (4.1).
 * Reads are in `reads.ts`, how it hands over (3.10) in `handover.ts`.
 */
import { assert, present } from '../../lib/assert.ts'
import { abdicate, continueTransfer, diskLags, othersAreAhead, type Refusal } from './handover.ts'
import { broadcastHeartbeat, heartbeatTo } from './heartbeat.ts'
import { bytesOf } from './log.ts'
import { applyChange, encodeConfiguration, type Change } from './membership.ts'
import type {
  AppendResponse,
  Entry,
  EntryKind,
  HeartbeatResponse,
  LogIndex,
  ServerId,
  Term,
  TimeoutNow,
} from './message.ts'
import { Progress } from './progress.ts'
import { majorityOf, reachedByMajority } from './quorum.ts'
import { extendLease, readsConfirmed, widenReadRound } from './reads.ts'
import { commitTo, diskStalls, leaveRole, type Leader, type State } from './state.ts'
import { statementOf, survivorsOnlyTo } from './succession.ts'

/** A learner is caught up when it lacks no more than this. */
const promoteLagEntriesMax = 1_000

/** A snapshot that failed again and again is offered again after half as many election timeouts, at most. */
const snapshotWaitTimeoutsMax = 16

/**
 * Entries of a probe, which is sent again with each heartbeat that is answered first: over a slow link many are. A new leader's own
 * first entry is among them.
 */
const probeBytesMax = 1_024

export type ProposeResult =
  | { readonly ok: true; readonly index: LogIndex; readonly term: Term }
  | { readonly ok: false; readonly refusal: Refusal }

const empty = new Uint8Array(0)

/** `handover`: the word of the leader before, whose log this one's holds. */
export function becomeLeader(state: State, handover: TimeoutNow | null): void {
  assert(state.membership.isVoter(state.id), 'only voters lead')
  leaveRole(state)
  const { log, now } = state
  const progress = new Map<ServerId, Progress>()
  for (const id of state.membership.peers) progress.set(id, new Progress(log.lastIndex + 1, now))
  const noopIndex = log.lastIndex + 1
  const handed = handover?.voted === true ? handover : null
  // With the sender's vote all its entries were on its disk. So it need not be asked where the logs meet.
  if (handed !== null) progress.get(handed.from)?.becomeReplicate(handed.lastIndex)
  const leader: Leader = {
    type: 'leader',
    progress,
    noopIndex,
    completeAt:
      handed === null || handed.acknowledgedIndex === 0 ? noopIndex : handed.acknowledgedIndex,
    round: 0,
    roundsSentAt: new Map(),
    acks: 0,
    quorumContact: now,
    quorumSilentMs: 0,
    nextHeartbeat: now,
    waitingReads: [],
    readRound: null,
    transfer: null,
  }
  state.role = leader
  state.leaderId = state.id
  state.quickElections = 0
  state.unappliedBytes = 0
  const statement = statementOf(state.membership.configuration, leader.noopIndex)
  if (statement === null) appendOwn(state, 'noop', empty)
  else appendOwn(state, 'configuration', encodeConfiguration(statement))
  broadcastHeartbeat(state, leader)
}

/** `term`: refused in any other; null: any will do. */
export function propose(state: State, data: Uint8Array, term: Term | null): ProposeResult {
  const { role } = state
  if (role.type !== 'leader') return refuse('notLeader', 'this server is not the leader')
  if (term !== null && term !== state.term) {
    return refuse('notLeader', `this server leads in term ${state.term}, not in ${term} as asked`)
  }
  if (role.transfer !== null) return refuse('transferring', 'leadership is being handed over')
  const bytes = data.length + 64
  if (
    state.unappliedBytes > 0 &&
    state.unappliedBytes + bytes > state.options.uncommittedBytesMax
  ) {
    return refuse('overloaded', 'too much is waiting to be committed')
  }
  return { ok: true, index: appendOwn(state, 'command', data), term: state.term }
}

export function changeMembership(state: State, change: Change): ProposeResult {
  const { role, membership, log, now, options } = state
  if (role.type !== 'leader') return refuse('notLeader', 'this server is not the leader')
  if (role.transfer !== null) return refuse('transferring', 'leadership is being handed over')
  // Both conditions of the single-server change, see `membership.ts`.
  if (log.commitIndex < role.noopIndex) return refuse('notNow', 'the new leader is settling in')
  if (membership.index > log.commitIndex) return refuse('notNow', 'another change is under way')
  // A newcomer gets the state from where the successor begins, so that state has to be there.
  if (state.appliedIndex < survivorsOnlyTo(membership.configuration)) {
    return refuse('notNow', 'the recovered cluster is settling in')
  }
  if (change.type === 'promote') {
    const match = role.progress.get(change.id)?.match ?? 0
    if (log.lastIndex - match > promoteLagEntriesMax) {
      return refuse('notNow', `server ${change.id} has not caught up yet`)
    }
  }
  const next = applyChange(membership.configuration, change)
  if (typeof next === 'string') return refuse('invalid', next)
  if (change.type === 'remove') {
    const voters = next.members.filter((member) => member.role === 'voter')
    const live = voters.filter(({ id }) => {
      const contact = id === state.id ? now : (role.progress.get(id)?.lastContact ?? 0)
      return now - contact <= options.electionMs
    })
    if (live.length < majorityOf(voters.length)) {
      return refuse('notNow', 'the servers that would be left have no quorum now')
    }
  }
  const index = appendOwn(state, 'configuration', encodeConfiguration(next))
  return { ok: true, index, term: state.term }
}

function refuse(code: Refusal['code'], text: string): ProposeResult {
  return { ok: false, refusal: { code, text } }
}

function appendOwn(state: State, kind: EntryKind, data: Uint8Array): LogIndex {
  const entry: Entry = { index: state.log.lastIndex + 1, term: state.term, kind, data }
  state.log.append(entry)
  state.unappliedBytes += bytesOf(entry)
  if (kind === 'configuration') {
    state.membership.appended(entry)
    syncProgress(state)
  }
  return entry.index
}

/** One progress per member, after the configuration in force changed. */
export function syncProgress(state: State): void {
  const { role, membership } = state
  if (role.type !== 'leader') return
  for (const id of membership.peers) {
    if (!role.progress.has(id)) {
      role.progress.set(id, new Progress(state.log.lastIndex + 1, state.now))
    }
  }
  for (const id of role.progress.keys()) {
    if (!membership.isMember(id)) role.progress.delete(id)
  }
}

/** Sends to every follower what it may be sent now. Called once after all inputs of a turn, so batches form. */
export function replicate(state: State, leader: Leader): void {
  for (const [id, progress] of leader.progress) {
    while (progress.mayAppend(state.options) && progress.next <= state.log.lastIndex) {
      if (!sendEntries(state, leader, id, progress)) break
    }
    tellCommit(state, id, progress)
  }
  continueTransfer(state, leader)
}

/**
 * The first entry that is still to be applied here or, at a leader, sent to a follower that answers. Others are read from the
 * disk for a follower that was away.
 */
export function wantedFrom({ appliedIndex, role, now, options }: State): LogIndex {
  let wanted = appliedIndex + 1
  if (role.type !== 'leader') return wanted
  for (const { match, state, lastContact } of role.progress.values()) {
    const follows = state !== 'snapshot' && now - lastContact <= options.electionMs
    if (follows) wanted = Math.min(wanted, match + 1)
  }
  return wanted
}

function sendEntries(state: State, leader: Leader, id: ServerId, progress: Progress): boolean {
  const { log, options } = state
  if (log.termAt(progress.next - 1) === undefined || isOfPredecessor(state, progress.next)) {
    offerSnapshot(state, id, progress)
    return false
  }
  if (progress.state === 'probe') {
    progress.probed(leader.round)
    sendAppend(state, leader, id, progress, probeEntries(state, progress.next))
    return true
  }
  const entries = log.slice(progress.next, log.lastIndex, options.appendBytesMax)
  if (entries === undefined) {
    progress.fetching = true
    // Only what is on disk can be read there; the rest is in memory when its turn comes.
    const to = Math.min(log.lastIndex, log.persistedIndex)
    state.out.fetches.push({ peer: id, from: progress.next, to })
    return false
  }
  sendAppend(state, leader, id, progress, entries)
  return true
}

/** None where they are on disk alone, or where the first is larger: the answer tells where the logs meet all the same. */
function probeEntries({ log }: State, next: LogIndex): readonly Entry[] {
  const entries = log.slice(next, log.lastIndex, probeBytesMax) ?? []
  const [first] = entries
  return first === undefined || bytesOf(first) > probeBytesMax ? [] : entries
}

/** Survivors are sent such entries until the successor's beginning is applied: before that there is no state to send. */
function isOfPredecessor({ membership, appliedIndex }: State, next: LogIndex): boolean {
  const beginsAt = survivorsOnlyTo(membership.configuration)
  return next <= beginsAt && appliedIndex >= beginsAt
}

function offerSnapshot(state: State, id: ServerId, progress: Progress): void {
  if (state.now - progress.lastContact > state.options.electionMs) return
  if (state.now < progress.snapshotNotBefore) return
  progress.becomeSnapshot()
  state.out.snapshots.push(id)
}

/** Entries that `Fetch` asked for; ignored when the follower's position moved meanwhile. */
export function fetched(state: State, term: Term, id: ServerId, entries: readonly Entry[]): void {
  const { role } = state
  if (role.type !== 'leader' || term !== state.term) return
  const progress = role.progress.get(id)
  if (progress === undefined || !progress.fetching) return
  progress.fetching = false
  const first = entries[0]
  if (first === undefined || first.index !== progress.next) return
  if (!progress.mayAppend(state.options)) return
  if (state.log.termAt(progress.next - 1) === undefined) return
  sendAppend(state, role, id, progress, entries)
}

function sendAppend(
  state: State,
  leader: Leader,
  id: ServerId,
  progress: Progress,
  entries: readonly Entry[],
): void {
  const prevIndex = progress.next - 1
  const prevTerm = present(state.log.termAt(prevIndex), 'the term before what is sent')
  const last = entries.at(-1)
  if (last !== undefined) {
    let bytes = 0
    for (const entry of entries) bytes += bytesOf(entry)
    progress.sent(last.index, bytes)
  }
  progress.toldCommit = state.log.commitIndex
  state.out.send.push({
    type: 'appendRequest',
    from: state.id,
    to: id,
    term: state.term,
    prevIndex,
    prevTerm,
    entries,
    commitIndex: state.log.commitIndex,
    round: leader.round,
    asksPromise: true,
  })
}

/** A follower with nothing to receive still learns at once what is committed, so that reads there do not lag. */
function tellCommit(state: State, id: ServerId, progress: Progress): void {
  // What is in flight carries the index as it was, and its answer brings us back here with the newest.
  if (progress.state !== 'replicate' || progress.match < progress.next - 1) return
  const commitIndex = Math.min(state.log.commitIndex, progress.match)
  if (commitIndex <= progress.toldCommit) return
  progress.toldCommit = commitIndex
  // Round 0 asks for no answer.
  state.out.send.push(heartbeatTo(state, id, commitIndex, 0))
}

export function leaderTick(state: State, leader: Leader, late: boolean): void {
  if (diskStalls(state) || (diskLags(state) && othersAreAhead(state, leader))) {
    abdicate(state, leader)
    return
  }
  const { patience, now, options } = state
  // A late leader's heartbeats are late as well. One that was away for so long that it may be deposed is no such measure.
  if (!late) patience.observe(options.heartbeatMs + Math.max(0, now - leader.nextHeartbeat), now)
  const contact = quorumContact(state, leader)
  // Between two contacts that were looked at there may be others: the silence that ended is the one seen at the last look.
  if (contact > leader.quorumContact) patience.observe(leader.quorumSilentMs, now)
  leader.quorumContact = contact
  leader.quorumSilentMs = now - contact
  // A process that was held up hears its waiting messages first; its lease is judged by sending times all the same.
  if (!late && now - contact > patience.ms) {
    abdicate(state, leader)
    return
  }
  if (leader.transfer !== null && state.now >= leader.transfer.deadline) leader.transfer = null
  if (state.now >= leader.nextHeartbeat) broadcastHeartbeat(state, leader)
  widenReadRound(state, leader)
}

/** The latest time since which a majority (this server included) has been heard. */
function quorumContact(state: State, leader: Leader): number {
  return reachedByMajority(
    state.membership.voters.map((id) =>
      id === state.id ? state.now : (leader.progress.get(id)?.lastContact ?? 0),
    ),
  )
}

export function onAppendResponse(state: State, leader: Leader, response: AppendResponse): void {
  const progress = leader.progress.get(response.from)
  if (progress === undefined) return
  contacted(state, leader, progress, response)
  if (response.ok) {
    assert(response.matchIndex <= state.log.lastIndex, 'a follower acknowledges what was sent')
    const news = progress.acknowledged(response.matchIndex, leader.round)
    if (progress.state === 'probe') progress.becomeReplicate()
    else if (progress.state === 'snapshot' && state.log.termAt(progress.match) !== undefined) {
      progress.becomeReplicate()
    }
    if (news) maybeCommit(state)
  } else {
    rejected(state, progress, response)
  }
  readsConfirmed(state, leader)
}

function rejected(
  state: State,
  progress: Progress,
  { from, round, rejectedIndex, hintIndex, hintTerm }: Extract<AppendResponse, { ok: false }>,
): void {
  if (progress.state === 'snapshot') return
  if (rejectedIndex <= progress.match) {
    // Replies may be late or out of order: one that does not speak of the present position says nothing new.
    if (round <= progress.matchRound) return
    // It answers what left after it had acknowledged that entry, which was on its disk then.
    state.out.forgetful.push({ peer: from, acknowledged: progress.match, left: hintIndex })
    progress.becomeUnknown()
  } else if (progress.state === 'probe' && rejectedIndex !== progress.next - 1) {
    return
  }
  const { log } = state
  const meeting = log.latestNotAbove(hintIndex, hintTerm)
  // The search ends at the base. If not even that can match, the logs meet below it: only a snapshot helps.
  const compacted = (log.termAt(meeting) ?? 0) > hintTerm
  progress.becomeProbe(compacted ? meeting : meeting + 1)
}

export function onHeartbeatResponse(
  state: State,
  leader: Leader,
  response: HeartbeatResponse,
): void {
  const progress = leader.progress.get(response.from)
  if (progress === undefined) return
  contacted(state, leader, progress, response)
  progress.outlived(response.round)
  // An append may have been lost: an empty one behind it makes the follower say what it lacks.
  if (progress.state === 'replicate' && progress.match < progress.next - 1 && !progress.fetching) {
    probeEmpty(state, leader, response.from, progress)
  } else if (progress.state === 'probe' && progress.next > state.log.lastIndex) {
    probeEmpty(state, leader, response.from, progress)
  }
  readsConfirmed(state, leader)
}

/** Asks whether the follower holds all before `next`, or offers a snapshot when that is compacted. */
function probeEmpty(state: State, leader: Leader, id: ServerId, progress: Progress): void {
  if (state.log.termAt(progress.next - 1) === undefined) offerSnapshot(state, id, progress)
  else sendAppend(state, leader, id, progress, [])
}

function contacted(
  state: State,
  leader: Leader,
  progress: Progress,
  response: AppendResponse | HeartbeatResponse,
): void {
  const { round } = response
  progress.lastContact = state.now
  if (round <= progress.ackedRound) return
  leader.acks += 1
  progress.ackedRound = round
  progress.ackedOrder = leader.acks
  const sentAt = leader.roundsSentAt.get(round)
  if (sentAt !== undefined) extendLease(state, progress, response, sentAt)
}

/** The transport delivered a snapshot up to `index`, or gave up. */
export function snapshotSent(state: State, id: ServerId, index: LogIndex, ok: boolean): void {
  if (state.role.type !== 'leader') return
  const progress = state.role.progress.get(id)
  if (progress === undefined || progress.state !== 'snapshot') return
  progress.snapshotFailures = ok ? 0 : progress.snapshotFailures + 1
  if (!ok) {
    // Its disk may be full, and what it is sent fills it again and again.
    const timeouts = Math.min(2 ** (progress.snapshotFailures - 1), snapshotWaitTimeoutsMax)
    progress.snapshotNotBefore = state.now + (timeouts * state.options.electionMs) / 2
  }
  progress.becomeProbe(ok ? index + 1 : progress.match + 1)
  // The next heartbeat's answer starts the probe: the follower may still be putting the snapshot in place.
  progress.probing = true
}

/** Commits what a majority holds durably, if it is of the own term; older entries come along with it (3.6.2). */
export function maybeCommit(state: State): void {
  const { role, log, membership } = state
  if (role.type !== 'leader') return
  const index = reachedByMajority(
    membership.voters.map((id) =>
      id === state.id ? log.persistedIndex : (role.progress.get(id)?.match ?? 0),
    ),
  )
  if (index <= log.commitIndex || log.termAt(index) !== state.term) return
  commitTo(state, index)
  // From now on other servers may answer for the entries before this term, also for those that nobody had acknowledged when it began.
  role.completeAt = Math.max(role.completeAt, role.noopIndex)
  if (membership.index <= index && !membership.isVoter(state.id)) abdicate(state, role)
}
