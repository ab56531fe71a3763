/**
 * State machine safety: whoever applies an index applies the same entry, in order, and only once it is
 * committed, which is to say on the disks of a majority. A leader counts only its own term's entries, and what is
 * committed never becomes uncommitted.
 */
import type { LogIndex, ServerId, Term } from '../../../src/raft/core/message.ts'
import { holds, type DiskImage, type EntryMark, type Report } from './rule.ts'

export type Committed = EntryMark & {
  /** The term of whoever applied it first: it was committed in that term or before. */
  readonly knownInTerm: Term
  readonly chain: number
  readonly server: ServerId
}

export type Views = {
  readonly disks: ReadonlyMap<ServerId, DiskImage>
  /** Voters of the configurations that may be in force somewhere. */
  readonly voterSets: readonly (readonly ServerId[])[]
}

export class Commits {
  readonly #report: Report
  readonly #canon = new Map<LogIndex, Committed>()
  /** Per life of a server: the commit index it showed last. */
  readonly #shown = new Map<string, LogIndex>()
  /** Per server and term: the commit index the leader showed last. */
  readonly #reigns = new Map<string, LogIndex>()
  highest: LogIndex = 0

  constructor(report: Report) {
    this.#report = report
  }

  /** The entries that some server applied; everything up to `highest`. */
  get committed(): ReadonlyMap<LogIndex, Committed> {
    return this.#canon
  }

  chainAt(index: LogIndex): number | undefined {
    return this.#canon.get(index)?.chain
  }

  /** `chain` is the machine's checksum over everything it applied so far, this entry included. */
  applied(
    { server, term, chain }: { server: ServerId; term: Term; chain: number },
    index: LogIndex,
    mark: EntryMark,
    views: () => Views,
  ): void {
    const canon = this.#canon.get(index)
    if (canon === undefined) {
      this.#mustBeCommitted(server, index, mark, views())
      this.#canon.set(index, { ...mark, knownInTerm: term, chain, server })
      this.highest = Math.max(this.highest, index)
      return
    }
    if (canon.term !== mark.term || canon.digest !== mark.digest) {
      this.#report({
        rule: 'state machine safety',
        text: `${server} applies ${index}/${mark.term} ${mark.digest}, ${canon.server} applied ${index}/${canon.term} ${canon.digest}`,
      })
    } else if (canon.chain !== chain) {
      this.#report({
        rule: 'state machine safety',
        text: `${server} came to ${index} by another history than ${canon.server}`,
      })
    }
  }

  installed(server: ServerId, index: LogIndex, chain: number): void {
    const canon = this.#canon.get(index)
    if (canon?.chain === chain) return
    this.#report({
      rule: 'a snapshot is a committed state',
      text: `${server} installs a state at ${index} that nobody had there`,
    })
  }

  /** Within a life the commit index rises, and never beyond the log. */
  shows(life: string, commitIndex: LogIndex, lastIndex: LogIndex): void {
    const before = this.#shown.get(life) ?? 0
    if (commitIndex < before) {
      this.#report({
        rule: 'the commit index never goes back',
        text: `${life} goes from ${before} to ${commitIndex}`,
      })
    }
    if (commitIndex > lastIndex) {
      this.#report({
        rule: 'the commit index is within the log',
        text: `${life} has committed ${commitIndex} of ${lastIndex}`,
      })
    }
    this.#shown.set(life, commitIndex)
  }

  /**
   * A leader commits by counting only entries of its own term (3.6.2): whatever its commit index moves to is one.
   * `termThere` is the term of that entry on the leader's disk, undefined while it is not there.
   */
  leaderShows(
    leader: { readonly server: ServerId; readonly term: Term; readonly commitIndex: LogIndex },
    termThere: Term | undefined,
  ): void {
    const { server, term, commitIndex } = leader
    const reign = `${server} ${term}`
    const before = this.#reigns.get(reign)
    this.#reigns.set(reign, commitIndex)
    if (before === undefined || before === commitIndex) return
    if (termThere === undefined || termThere === term) return
    this.#report({
      rule: 'a leader commits entries of its own term only',
      text: `${server} in term ${term} moves its commit index from ${before} to ${commitIndex}, an entry of term ${termThere}`,
    })
  }

  #mustBeCommitted(server: ServerId, index: LogIndex, mark: EntryMark, views: Views): void {
    const holders = [...views.disks].flatMap(([id, disk]) =>
      holds(disk, index, mark.term) ? [id] : [],
    )
    // Around a change of members it is a majority of the old or of the new configuration.
    const byMajority = views.voterSets.some((voters) => {
      const held = voters.filter((voter) => holders.includes(voter)).length
      return held * 2 > voters.length
    })
    if (byMajority) return
    this.#report({
      rule: 'only what a majority has on disk is committed',
      text: `${server} applies ${index}/${mark.term}, which is on the disks of [${holders.join(' ')}] only`,
    })
  }
}
