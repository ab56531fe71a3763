/**
 * How a leader gives up its place (3.10): because an operator asked for it, or for a reason of its own (`leader.ts` says when).
 */
import { diskBusyMs, becomeFollower, type Leader, type State } from './state.ts'
import type { ServerId } from './message.ts'

/** A target that was silent for longer may be gone. */
const answersWithinHeartbeats = 2

export type Refusal = {
  readonly code: 'notLeader' | 'transferring' | 'overloaded' | 'notNow' | 'invalid'
  readonly text: string
}

/** The own disk takes long for a write, longer than it lately did or than half of the first election timeout. */
export function diskLags(state: State): boolean {
  return diskBusyMs(state) > diskBoundMs(state)
}

function diskBoundMs({ patience, diskPatience, options }: State): number {
  return Math.min(Math.max(patience.ms / 2, diskPatience.ms), options.electionMs / 2)
}

/** When a leader has to look again whether it still should be one, if its disk and its followers stay silent. */
export function doubtsAt(state: State, leader: Leader): number {
  const diskAt = state.now - diskBusyMs(state) + diskBoundMs(state)
  const quorumAt = leader.quorumContact + state.patience.ms
  // What is over was looked at: no voter could take over, or news came since.
  return Math.min(...[diskAt + 1, quorumAt + 1].filter((at) => at > state.now))
}

/** A voter that answers has more on its disk: where all disks are slow, as on one storage, a handover would not help. */
export function othersAreAhead(
  { now, patience, log, membership }: State,
  { progress }: Leader,
): boolean {
  for (const [id, { match, lastContact }] of progress) {
    const live = now - lastContact <= patience.ms
    if (live && membership.isVoter(id) && match > log.persistedIndex) return true
  }
  return false
}

/**
 * Steps down for a reason of its own, and asks the follower that is furthest along to take over. When none answers, for
 * this server may be deaf but not mute: the one that was furthest.
 */
export function abdicate(state: State, leader: Leader): void {
  const target =
    bestTarget(state, leader, state.options.electionMs) ?? bestTarget(state, leader, Infinity)
  // Whatever its log holds: nothing more comes from here.
  if (target !== null) {
    const { id: from, term } = state
    const whatever = { lastIndex: 0, voted: false, acknowledgedIndex: 0 }
    state.out.send.push({ type: 'timeoutNow', from, to: target, term, ...whatever })
  }
  becomeFollower(state, state.term, null)
}

function bestTarget(state: State, leader: Leader, silentMsMax: number): ServerId | null {
  let best: ServerId | null = null
  let bestMatch = -1
  for (const [id, { match, lastContact }] of leader.progress) {
    const live = state.now - lastContact <= silentMsMax
    if (state.membership.isVoter(id) && live && match > bestMatch) {
      best = id
      bestMatch = match
    }
  }
  return best
}

/** Begins to hand over. Proposals are refused until the target may take over, or an election timeout passed. */
export function transfer(state: State, target: ServerId | null): Refusal | null {
  const { role } = state
  if (role.type !== 'leader') return { code: 'notLeader', text: 'this server is not the leader' }
  if (role.transfer !== null) return { code: 'notNow', text: 'a handover is under way already' }
  const chosen = target ?? bestTarget(state, role, state.options.electionMs)
  if (chosen === null) return { code: 'notNow', text: 'no other voter is reachable' }
  if (chosen === state.id) return { code: 'invalid', text: 'this server is the leader already' }
  if (!state.membership.isVoter(chosen)) {
    return { code: 'invalid', text: `server ${chosen} is not a voter of this cluster` }
  }
  role.transfer = { target: chosen, deadline: state.now + state.options.electionMs }
  return null
}

/**
 * Once the target answers and was sent the whole log, this server leads no more: it goes to the next term with a vote for the
 * target, and says so when that is on its disk. Entries and word arrive in this order. So a target of three servers leads as
 * soon as its own vote is on its disk as well, with no round of votes.
 *
 * The vote is for a log that holds this server's last entry, and a target that lacks it does not campaign (`onTimeoutNow`):
 * then the others elect a leader by their timeouts.
 */
export function continueTransfer(state: State, leader: Leader): void {
  const { transfer, noopIndex } = leader
  const progress = transfer === null ? undefined : leader.progress.get(transfer.target)
  if (transfer === null || progress === undefined) return
  const { id: from, term, now, log, options } = state
  const { lastIndex, commitIndex } = log
  const answers = now - progress.lastContact <= answersWithinHeartbeats * options.heartbeatMs
  if (!answers || progress.state !== 'replicate' || progress.next !== lastIndex + 1) return
  // What leaders before this one acknowledged is known once an entry of the own term is committed (3.6.2).
  const acknowledgedIndex = commitIndex >= noopIndex ? commitIndex : 0
  becomeFollower(state, term + 1, null)
  state.votedFor = transfer.target
  const word = { lastIndex, voted: true, acknowledgedIndex }
  state.out.afterwards.push({ type: 'timeoutNow', from, to: transfer.target, term, ...word })
}
