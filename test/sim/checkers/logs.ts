/**
 * Log matching (3.5): entries of the same index and term are the same everywhere, and so is all before them.
 * Leader completeness (3.6.3): a new leader's log holds every entry that is committed by then.
 */
import type { LogIndex, ServerId, Term } from '../../../src/raft/core/message.ts'
import type { Committed } from './commits.ts'
import { holds, type DiskImage, type EntryMark, type Report } from './rule.ts'

type Known = { readonly digest: string; readonly previousTerm: Term; readonly server: ServerId }

export class LogMatching {
  readonly #report: Report
  readonly #known = new Map<string, Known>()

  constructor(report: Report) {
    this.#report = report
  }

  /** By induction over the terms before each entry this covers all that comes before. */
  wrote(server: ServerId, index: LogIndex, mark: EntryMark, previousTerm: Term): void {
    const key = `${index}/${mark.term}`
    const known = this.#known.get(key)
    if (known === undefined) {
      this.#known.set(key, { digest: mark.digest, previousTerm, server })
    } else if (known.digest !== mark.digest || known.previousTerm !== previousTerm) {
      this.#report({
        rule: 'log matching',
        text: `entry ${key} differs: ${server} has ${mark.digest} after term ${previousTerm}, ${known.server} wrote ${known.digest} after term ${known.previousTerm}`,
      })
    }
  }
}

/** A snapshot takes the place of a log only if that lacks its last entry: what follows may be acknowledged (7). */
export function checkRestart(
  report: Report,
  server: ServerId,
  disk: DiskImage,
  snapshot: { readonly index: LogIndex; readonly term: Term },
): void {
  const { index, term } = snapshot
  if (index >= disk.lastIndex || disk.markAt(index)?.term !== term) return
  report({
    rule: 'a snapshot does not void entries that follow it',
    text: `${server} starts over at ${index}/${term}, which its log holds, and loses what it has up to ${disk.lastIndex}`,
  })
}

export function checkLeaderCompleteness(
  report: Report,
  leader: { readonly server: ServerId; readonly term: Term; readonly disk: DiskImage },
  committed: ReadonlyMap<LogIndex, Committed>,
): void {
  for (const [index, { term, knownInTerm }] of committed) {
    // A leader of an earlier term may learn of its election late.
    if (knownInTerm >= leader.term || holds(leader.disk, index, term)) continue
    report({
      rule: 'leader completeness',
      text: `${leader.server} leads term ${leader.term} without committed entry ${index}/${term}; it has ${leader.disk.markAt(index)?.term ?? 'nothing'} there`,
    })
    return
  }
}
