/**
 * One suspicion: who raised it and why, and how much time the suspect has left. Many independent accusers make it
 * short, a lonely one leaves the suspect long to object.
 *
 * It stays with the member after it ended, so that an operator can see what a flap was about.
 * Invariant: `confirmedBy.length <= confirmationsWanted`, all names distinct, none of them `by`.
 */
import type { Endpoint } from './message.ts'
import type { StallAllowance } from './stall-allowance.ts'

/** How a stream ping went, which is tried when packets get no answer. */
export type StreamPath =
  | { readonly type: 'not-tried' }
  | { readonly type: 'no-answer' }
  /** The machine is there, and no process listens. */
  | { readonly type: 'refused' }
  | { readonly type: 'answered' }
  | { readonly type: 'failed'; readonly text: string }

/** How it ended, if it did in time. */
export type StreamOutcome = Extract<
  StreamPath,
  { readonly type: 'answered' | 'refused' | 'failed' }
>

/** Why a member is suspected, as far as this member knows. */
export type Evidence =
  /** Own probe: the direct ping and `helpers` indirect ones got no answer; `nacks` helpers said that they tried. */
  | {
      readonly type: 'probe'
      readonly helpers: number
      readonly nacks: number
      readonly stream: StreamPath
    }
  /** Told by a packet from there; the accuser is `by`. */
  | { readonly type: 'told'; readonly via: Endpoint }
  /**
   * The state of a peer called the member suspect or dead. Port 0: where that peer listens is not known. `from`: its name, looked for
   * once for all that it says; null: it is no member.
   */
  | { readonly type: 'push-pull'; readonly via: Endpoint; readonly from: string | null }

export type SuspicionEnd = {
  readonly at: number
  readonly how: 'refuted' | 'failed' | 'left'
  /** Who declared the death; null when refuted. */
  readonly by: string | null
}

export type Suspicion = {
  readonly by: string
  readonly evidence: Evidence
  /** The member that listens where the evidence came from, if any is known to. */
  readonly toldBy: string | null
  readonly incarnation: number
  readonly minMs: number
  readonly maxMs: number
  readonly confirmationsWanted: number
  readonly confirmedBy: string[]
  readonly allowance: StallAllowance
  /** Moves only when this member itself was held up, by what `allowance` allows. */
  startedAt: number
  ended: SuspicionEnd | null
}

/** Counts an accuser. False: it adds nothing, being known or too many. */
export function confirm(suspicion: Suspicion, from: string): boolean {
  const { by, confirmedBy, confirmationsWanted } = suspicion
  if (confirmedBy.length >= confirmationsWanted) return false
  if (from === by || confirmedBy.includes(from)) return false
  confirmedBy.push(from)
  return true
}

/** When the suspect is dead unless it objects; earlier with every confirmation. */
export function deadlineOf(suspicion: Suspicion): number {
  const { startedAt, minMs, maxMs, confirmationsWanted, confirmedBy } = suspicion
  if (confirmationsWanted < 1) return startedAt + minMs
  const share = Math.log(confirmedBy.length + 1) / Math.log(confirmationsWanted + 1)
  return startedAt + Math.max(minMs, maxMs - (maxMs - minMs) * share)
}

/** One line for logs and lists. */
export function describeEvidence(evidence: Evidence): string {
  if (evidence.type === 'told') return 'told by gossip'
  if (evidence.type === 'push-pull') return 'the state of a peer said so'
  const { helpers, nacks, stream } = evidence
  const tcp = {
    'not-tried': 'TCP was not tried',
    'no-answer': 'none over TCP either',
    answered: 'TCP answered',
    refused: 'nobody listens on TCP',
    failed: `TCP failed${stream.type === 'failed' ? ` (${stream.text})` : ''}`,
  }[stream.type]
  return `no answer over UDP, ${helpers} others asked, ${nacks} of them said they got none, ${tcp}`
}
