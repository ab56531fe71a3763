/**
 * Messages that no server of a sound cluster sends: found before anything of them takes effect. They are an error of their
 * sender, or an impostor; the invariants of this server hold as they did.
 *
 * A log is never judged here: what conflicts with it is settled by the rules of Raft.
 */
import { MusterError } from '../../lib/errors.ts'
import type { Message, Term } from './message.ts'
import type { State } from './state.ts'

/**
 * A term rises by one per election, so no server is this far ahead. Without a bound one message could take the last term
 * there is, and no server could be elected ever again.
 */
const termLeapMax = 2 ** 24

export function leapsAhead(term: Term, ownTerm: Term): boolean {
  return term > ownTerm + termLeapMax
}

/** Throws MusterError `corrupt`. */
export function refuseUntrue(state: State, message: Message): void {
  const refusal = refusalOf(state, message)
  if (refusal !== null) throw new MusterError('corrupt', `a message was refused: ${refusal}`)
}

function refusalOf(state: State, message: Message): string | null {
  const { id, term, role, log } = state
  if (message.to !== id) return `it is for server ${message.to}`
  if (message.from === id) return 'it says that this server sent it'
  if (leapsAhead(message.term, term)) {
    return `its term ${message.term} is impossibly far ahead of term ${term}`
  }
  if (role.type !== 'leader' || message.term !== term) return null
  switch (message.type) {
    case 'appendRequest':
    case 'heartbeat':
      return `it says that its sender leads term ${term}, which this server leads`
    case 'appendResponse':
      if (message.ok && message.matchIndex > log.lastIndex) {
        return `it acknowledges entry ${message.matchIndex}, the last one is ${log.lastIndex}`
      }
      return refusalOfRound(message.round, role.round)
    case 'heartbeatResponse':
      return refusalOfRound(message.round, role.round)
    default:
      return null
  }
}

/** It would prove for good that its sender follows this leader. */
function refusalOfRound(round: number, latest: number): string | null {
  return round > latest ? `it answers round ${round}, the latest one is ${latest}` : null
}
