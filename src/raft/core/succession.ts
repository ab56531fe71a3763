/**
 * A cluster that lost its quorum for good goes on as another one, its successor: with members that an operator named and
 * with an id of its own. The log goes on too, with its terms, so the ordinary rules of an election (3.6.1) choose the most
 * complete log among the survivors, and what none of them can prove committed is cut off or committed like any other tail.
 *
 * Why another id: servers of different clusters refuse each other on every connection. Members of the old cluster that
 * come back may be a majority of its members; were the id the same, they would elect a leader and write over the successor.
 *
 * Invariants: configurations of a predecessor that are still in a log do not count; the successor's first leader begins its
 * term with the configuration, whose entry is `beginsAt`; no later member is sent entries up to there, for
 * among them are those of the predecessor, and a newcomer would take itself for a member of it.
 */
import type { Configuration, Entry, LogIndex, Member } from './message.ts'

/** Of one cluster's line; entries of older ones are long gone from every log. */
export const predecessorsMax = 16

/** What takes the place of `current` in a log: not yet begun, see `statementOf`. */
export function successorOf(
  current: Configuration,
  clusterId: string,
  members: readonly Member[],
): Configuration {
  const before = current.succession?.predecessors ?? []
  const predecessors = [...before, current.clusterId].slice(-predecessorsMax)
  return { clusterId, members, succession: { predecessors, beginsAt: 0 } }
}

/** Whether `other` is of a cluster that `current`'s succeeded. */
export function supersedes(current: Configuration, other: Configuration): boolean {
  return current.succession?.predecessors.includes(other.clusterId) ?? false
}

/** What a leader begins its term with at `index`, instead of an empty entry; null when the log says it already. */
export function statementOf(current: Configuration, index: LogIndex): Configuration | null {
  const { succession } = current
  if (succession === undefined || succession.beginsAt !== 0) return null
  return { ...current, succession: { ...succession, beginsAt: index } }
}

/** Up to here the log is the survivors' own; 0: all of it may be sent to any member. */
export function survivorsOnlyTo(current: Configuration): LogIndex {
  return current.succession?.beginsAt ?? 0
}

/** The entry without its effect on who is a member. */
export function withoutEffect(entry: Entry): Entry {
  return { ...entry, kind: 'noop', data: new Uint8Array(0) }
}
