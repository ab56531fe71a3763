/**
 * One change at a time (4.1): a leader appends a configuration only when the one before is committed, and so is an
 * entry of its own term; and the two differ by one voter at most.
 */
import type { LogIndex, ServerId, Term } from '../../../src/raft/core/message.ts'
import type { Report } from './rule.ts'

export type LeaderView = {
  readonly server: ServerId
  readonly term: Term
  readonly commitIndex: LogIndex
  readonly lastIndex: LogIndex
  readonly configurationIndex: LogIndex
  readonly voters: readonly ServerId[]
}

type Reign = {
  /** The leader's first entry of its own term, or a little above. */
  readonly firstIndex: LogIndex
  configurationIndex: LogIndex
  voters: readonly ServerId[]
}

export class MembershipChanges {
  readonly #report: Report
  readonly #reigns = new Map<string, Reign>()
  readonly #appended: { readonly index: LogIndex; readonly voters: readonly ServerId[] }[] = []

  constructor(report: Report) {
    this.#report = report
  }

  get count(): number {
    return this.#appended.length
  }

  /** Voters of configurations above `index`, which are in force somewhere and committed nowhere. */
  voterSetsAbove(index: LogIndex): (readonly ServerId[])[] {
    return this.#appended.flatMap((change) => (change.index > index ? [change.voters] : []))
  }

  /** What a leader shows after a step. */
  shows(leader: LeaderView): void {
    const { server, term, commitIndex, lastIndex, configurationIndex, voters } = leader
    const reign = this.#reigns.get(`${server} ${term}`)
    if (reign === undefined) {
      this.#reigns.set(`${server} ${term}`, { firstIndex: lastIndex, configurationIndex, voters })
      return
    }
    if (reign.configurationIndex === configurationIndex) return
    this.#appended.push({ index: configurationIndex, voters })
    const change = `${server} appends configuration ${configurationIndex} in term ${term}`
    if (commitIndex < reign.firstIndex) {
      this.#report({
        rule: 'a new leader commits an entry of its own before it changes the members',
        text: `${change} at commit index ${commitIndex}, its own entries begin at ${reign.firstIndex}`,
      })
    }
    if (commitIndex < reign.configurationIndex) {
      this.#report({
        rule: 'one change of members at a time',
        text: `${change} while the one of ${reign.configurationIndex} is not committed (${commitIndex})`,
      })
    }
    const changed = missing(voters, reign.voters) + missing(reign.voters, voters)
    if (changed > 1) {
      this.#report({
        rule: 'one voter at a time',
        text: `${change}: [${reign.voters.join(' ')}] to [${voters.join(' ')}]`,
      })
    }
    reign.configurationIndex = configurationIndex
    reign.voters = voters
  }
}

function missing(these: readonly ServerId[], those: readonly ServerId[]): number {
  return these.filter((id) => !those.includes(id)).length
}
