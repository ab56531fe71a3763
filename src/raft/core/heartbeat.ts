/**
 * A leader's heartbeats (3.4): "I lead", sent to all on a timer, and for each round of reads to as many as prove it. A
 * round's number comes back in the answers and proves that they are recent.
 */
import type { Heartbeat, LogIndex, ServerId } from './message.ts'
import type { Leader, State } from './state.ts'

/** Rounds whose sending time is remembered; an answer to an older one extends no lease. */
const roundsRemembered = 256

/** Round 0 asks for no answer. */
export function heartbeatTo(
  state: State,
  to: ServerId,
  commitIndex: LogIndex,
  round: number,
): Heartbeat {
  const { id: from, term } = state
  return { type: 'heartbeat', from, to, term, commitIndex, round, asksPromise: true }
}

/** A new round: an answer with its number was sent after it began. */
export function beginRound(state: State, leader: Leader): void {
  leader.round += 1
  leader.roundsSentAt.set(leader.round, state.now)
  leader.roundsSentAt.delete(leader.round - roundsRemembered)
}

/** Says "I lead" in the present round to followers of this leader. */
export function sendHeartbeats(state: State, leader: Leader, to: Iterable<ServerId>): void {
  for (const id of to) {
    const commitIndex = Math.min(state.log.commitIndex, leader.progress.get(id)?.match ?? 0)
    state.out.send.push(heartbeatTo(state, id, commitIndex, leader.round))
  }
}

export function broadcastHeartbeat(state: State, leader: Leader): void {
  beginRound(state, leader)
  leader.nextHeartbeat = state.now + state.options.heartbeatMs
  sendHeartbeats(state, leader, leader.progress.keys())
}
