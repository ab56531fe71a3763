/**
 * What was synced is found again: after a crash the log holds all that was confirmed, plus perhaps the beginning
 * of what was being written, and nothing that was never given to it.
 */
import type { LogIndex, ServerId, Term } from '../../../src/raft/core/message.ts'
import type { DiskImage, EntryMark, Report } from './rule.ts'

/** A write that was under way when the process crashed. */
export type UnconfirmedWrite = {
  readonly truncateFrom: LogIndex | null
  readonly marks: ReadonlyMap<LogIndex, EntryMark>
  readonly vote: { readonly term: Term; readonly votedFor: ServerId | null } | null
}

export function checkRecovery(
  report: Report,
  server: ServerId,
  before: DiskImage,
  unconfirmed: readonly UnconfirmedWrite[],
  found: DiskImage,
): void {
  const fail = (text: string) =>
    report({ rule: 'what was synced is found again', text: `${server}: ${text}` })
  const votes = [
    { term: before.term, votedFor: before.votedFor },
    ...unconfirmed.flatMap(({ vote }) => (vote === null ? [] : [vote])),
  ]
  if (!votes.some(({ term, votedFor }) => term === found.term && votedFor === found.votedFor)) {
    fail(`vote ${found.votedFor} in term ${found.term} instead of ${describe(votes)}`)
  }
  const cuts = unconfirmed.map(({ truncateFrom }) => truncateFrom ?? Infinity)
  const surelyKept = Math.min(before.lastIndex, Math.min(...cuts, Infinity) - 1)
  if (found.lastIndex < surelyKept) fail(`ends at ${found.lastIndex} instead of ${surelyKept}`)
  for (let index = found.baseIndex + 1; index <= found.lastIndex; index += 1) {
    const mark = found.markAt(index)
    const candidates = [before.markAt(index), ...unconfirmed.map(({ marks }) => marks.get(index))]
    const known = candidates.some(
      (candidate) => candidate?.term === mark?.term && candidate?.digest === mark?.digest,
    )
    // Below the old base a log may keep more than it said.
    if (known || index <= before.baseIndex) continue
    fail(`entry ${index}/${mark?.term} ${mark?.digest} was never written there`)
    return
  }
}

function describe(votes: readonly { term: Term; votedFor: ServerId | null }[]): string {
  return votes.map(({ term, votedFor }) => `${votedFor} in ${term}`).join(' or ')
}
