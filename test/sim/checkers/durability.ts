/**
 * Durability: a write that was acknowledged is in the committed history, under the index that the client was told, and in the
 * state of each later leader before that decides on a request.
 * At the end of a run, once all is healed, every member of the cluster has come to the same state, and it is there.
 */
import type { LogIndex, ServerId, Term } from '../../../src/raft/core/message.ts'
import type { EntryMark, Report } from './rule.ts'

export class AcknowledgedWrites {
  readonly #report: Report
  readonly #writes = new Map<LogIndex, string>()
  highest: LogIndex = 0
  /** The newest in which a leader decided on requests. */
  #decidedTerm: Term = 0

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
  }

  /** A leader decides on requests from now on, in a state of `appliedIndex`. */
  decides(server: ServerId, term: Term, appliedIndex: LogIndex): void {
    if (term <= this.#decidedTerm) return
    this.#decidedTerm = term
    if (appliedIndex >= this.highest) return
    this.#report({
      rule: 'a leader decides on a state with all that was acknowledged',
      text: `${server} decides in term ${term} at ${appliedIndex}, below the acknowledged ${this.highest}`,
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
