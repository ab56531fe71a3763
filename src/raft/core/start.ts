/** The state of a core as its server starts: what is on its disk, and the timers of a follower that has heard no leader. */
import { assert } from '../../lib/assert.ts'
import { RaftLog, type LogStart } from './log.ts'
import { Membership } from './membership.ts'
import type { Configuration, Entry, HardState, LogIndex, ServerId } from './message.ts'
import { Patience } from './patience.ts'
import { emptyOutbox, resetElectionDeadline, type CoreOptions, type State } from './state.ts'

export type CoreStart = LogStart & {
  readonly hardState: HardState
  readonly appliedIndex: LogIndex
  /** In force at the base of the log. */
  readonly configuration: Configuration
  readonly configurationIndex: LogIndex
  /** Configuration entries in the log, ascending. */
  readonly configurations: readonly Entry[]
}

export function stateOf(id: ServerId, options: CoreOptions, start: CoreStart, now: number): State {
  assert(options.heartbeatMs * 2 <= options.electionMs, 'heartbeats are well within a timeout')
  const log = new RaftLog(start)
  const membership = new Membership(id, {
    index: start.configurationIndex,
    configuration: start.configuration,
  })
  for (const entry of start.configurations) {
    if (entry.index > membership.index) membership.appended(entry)
  }
  const { electionMs, leaseReads } = options
  const patience = new Patience(options, now)
  // A disk that takes as long as ever is borne with, up to the configured timeout.
  const ofDisk = { electionMs: 0, adaptive: { minMs: 0, maxMs: electionMs } }
  const state: State = {
    id,
    options,
    log,
    membership,
    now,
    term: start.hardState.term,
    firstTerm: start.hardState.term,
    votedFor: start.hardState.votedFor,
    role: { type: 'follower', askedReads: [], waitingReads: [] },
    leaderId: null,
    patience,
    diskPatience: new Patience(ofDisk, now),
    promisedUntil: leaseReads && start.hardState.term > 0 ? now + patience.longestMs : now,
    lastLeaderContact: now,
    lastLeaderTerm: 0,
    failedCampaigns: 0,
    electionDeadline: now,
    heldPreVote: null,
    gone: null,
    quickElections: 0,
    appliedIndex: start.appliedIndex,
    unappliedBytes: 0,
    installing: null,
    diskRefuses: false,
    persistSequence: 0,
    pendingPersists: [],
    handedTerm: start.hardState.term,
    handedVote: start.hardState.votedFor,
    ownVote: null,
    out: emptyOutbox(),
  }
  const known = Math.max(start.base.index, start.appliedIndex, start.hardState.commitIndex)
  log.commitIndex = Math.min(known, log.lastIndex)
  membership.committed(log.commitIndex)
  resetElectionDeadline(state)
  // It needs no vote but its own, so there is no leader to wait for.
  const { voters } = membership
  if (voters.length === 1 && voters[0] === id) state.electionDeadline = state.promisedUntil
  return state
}
