/** Election safety: at most one leader per term; a server votes for at most one candidate per term, for ever. */
import type { ServerId, Term } from '../../../src/raft/core/message.ts'
import type { Report } from './rule.ts'

export class ElectionSafety {
  readonly #report: Report
  readonly #leaders = new Map<Term, ServerId>()
  readonly #votes = new Map<string, ServerId>()

  constructor(report: Report) {
    this.#report = report
  }

  get terms(): number {
    return this.#leaders.size
  }

  /** `server` acts as the leader of `term`. True the first time. */
  leads(server: ServerId, term: Term): boolean {
    const known = this.#leaders.get(term)
    if (known === undefined) {
      this.#leaders.set(term, server)
      return true
    }
    if (known !== server) {
      this.#report({
        rule: 'election safety',
        text: `term ${term} has two leaders, ${known} and ${server}`,
      })
    }
    return false
  }

  /** The vote of `server` in `term` left for another server, or a campaign that implies a vote for itself. */
  votes(server: ServerId, term: Term, candidate: ServerId): void {
    const key = `${server} ${term}`
    const earlier = this.#votes.get(key)
    if (earlier === undefined) this.#votes.set(key, candidate)
    else if (earlier !== candidate) {
      this.#report({
        rule: 'one vote per term',
        text: `${server} voted in term ${term} for ${earlier} and for ${candidate}`,
      })
    }
  }
}
