/**
 * Durability: a write that was acknowledged is in the committed history, under the index that the client was told, and in the
 * state of each later leader while that decides on requests.
 * At the end of a run, once all is healed, every member of the cluster has come to the same state, and it is there.
 */
import type { LogIndex, ServerId, Term } from '../../../src/raft/core/message.ts'
import type { EntryMark, Report } from './rule.ts'

export class AcknowledgedWrites {
  readonly #report: Report
  readonly #writes = new Map<LogIndex, string>()
  highest: LogIndex = 0
  /** The newest reign, and the entry that it began with. */
  #term: Term = 0
  #firstIndex: LogIndex = 0
  /** The highest that was acknowledged of the entries before that one. */
  #inherited: LogIndex = 0

  constructor(report: Report) {
    this.#report = report
  }

  get count(): number {
    return this.#writes.size
  }

  /** A client was told that its write, of `digest`, took effect at `index`. */
  acknowledged(index: LogIndex, digest: string): void {
    const earlier = this.#writes.get(index)
    if (earlier !== undefined) {
      this.#report({
        rule: 'an index belongs to one write',
        text: `two writes were acknowledged at ${index}: ${earlier} and ${digest}`,
      })
    }
    this.#writes.set(index, digest)
    this.highest = Math.max(this.highest, index)
    if (index < this.#firstIndex) this.#inherited = Math.max(this.#inherited, index)
  }

  /** A leader of `term` was elected; `firstIndex`: its first entry. */
  leads(term: Term, firstIndex: LogIndex): void {
    if (term <= this.#term) return
    this.#term = term
    this.#firstIndex = firstIndex
    this.#inherited = Math.max(0, ...[...this.#writes.keys()].filter((index) => index < firstIndex))
  }

  /** At every look: a leader decides on requests in a state of `appliedIndex`. */
  decides(server: ServerId, term: Term, appliedIndex: LogIndex): void {
    // Its own entries do not count: what it decides on comes behind them in its log. One of an older term decides on nothing.
    if (term !== this.#term || appliedIndex >= this.#inherited) return
    this.#report({
      rule: 'a leader decides on a state with all that was acknowledged',
      text: `${server} decides in term ${term} at ${appliedIndex}, below the acknowledged ${this.#inherited}`,
    })
  }

  atEnd(
    committed: ReadonlyMap<LogIndex, EntryMark>,
    states: ReadonlyMap<ServerId, { readonly index: LogIndex; readonly digest: string }>,
  ): void {
    for (const [index, digest] of this.#writes) {
      const found = committed.get(index)?.digest
      if (found === digest) continue
      this.#report({
        rule: 'an acknowledged write is never lost',
        text: `the write acknowledged at ${index} is ${digest}, the history has ${found ?? 'nothing'} there`,
      })
      return
    }
    const [first, ...others] = states
    if (first === undefined) return
    if (first[1].index < this.highest) {
      this.#report({
        rule: 'an acknowledged write is never lost',
        text: `${first[0]} ends at ${first[1].index}, below the acknowledged ${this.highest}`,
      })
    }
    for (const [server, { index, digest }] of others) {
      if (index === first[1].index && digest === first[1].digest) continue
      this.#report({
        rule: 'replicas are equal in the end',
        text: `${server} is at ${index} ${digest}, ${first[0]} at ${first[1].index} ${first[1].digest}`,
      })
    }
  }
}
