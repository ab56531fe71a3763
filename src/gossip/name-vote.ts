/**
 * Two members of one name: a member that finds its own name elsewhere asks the pool where it sees the bearer. The question
 * and the answers are serf's, so that its agents settle their conflicts by our answers and we ours by theirs.
 *
 * An agent of serf that loses stops. A member of ours says so and goes on: the pool does not take it in under the name
 * as long as the other one lives, and its owner may have more to do than gossip.
 */
import { sameEndpoint } from './core/members.ts'
import type { Endpoint } from './core/message.ts'
import type { Question } from './core/queries.ts'
import { decodeConflictResponse, internalQuery } from './wire/internal-queries.ts'
import { textBytes } from './wire/text.ts'

export type NameVerdict = {
  /** More than half of the answers see this one, or others; otherwise, as without any answer, it is undecided. */
  readonly outcome: 'kept' | 'lost' | 'undecided'
  readonly answers: number
  readonly forThis: number
  /** The member that most others see; null: none. */
  readonly holder: Endpoint | null
}

export function nameQuestion(name: string, timeoutMs: number): Question {
  return {
    name: internalQuery.conflict,
    payload: textBytes(name),
    filters: [],
    wantsAck: false,
    timeoutMs,
  }
}

export class NameVote {
  readonly #name: string
  readonly #own: Endpoint
  readonly #others: { readonly endpoint: Endpoint; votes: number }[] = []
  #answers = 0
  #forThis = 0

  constructor(name: string, own: Endpoint) {
    this.#name = name
    this.#own = own
  }

  /** One answer of each member; what cannot be read, or is about another name, is none. */
  add(payload: Uint8Array): void {
    const bearer = decodeConflictResponse(payload)
    if (bearer === 'invalid' || (bearer !== null && bearer.name !== this.#name)) return
    this.#answers += 1
    if (bearer === null) return
    const { endpoint } = bearer
    if (sameEndpoint(endpoint, this.#own)) {
      this.#forThis += 1
      return
    }
    const known = this.#others.find((other) => sameEndpoint(other.endpoint, endpoint))
    if (known === undefined) this.#others.push({ endpoint, votes: 1 })
    else known.votes += 1
  }

  verdict(): NameVerdict {
    const answers = this.#answers
    const forThis = this.#forThis
    const [first, ...rest] = this.#others
    const holder = rest.reduce(
      (most, other) => (other.votes > (most?.votes ?? 0) ? other : most),
      first,
    )
    const forOthers = this.#others.reduce((sum, { votes }) => sum + votes, 0)
    const majority = Math.floor(answers / 2) + 1
    const outcome = forThis >= majority ? 'kept' : forOthers >= majority ? 'lost' : 'undecided'
    return { outcome, answers, forThis, holder: holder?.endpoint ?? null }
  }
}
