/**
 * Who is taken out of the Raft configuration, decided by the leader from what it knows now. Pure.
 *
 * The quorum stays safe: after a removal a majority of the voters that remain is in contact with the leader, so that
 * the removal itself, and what follows, can be committed.
 */
import type { Member } from '../raft/core/message.ts'

export type RemovalView = {
  readonly members: readonly Member[]
  /** The leader's id. */
  readonly self: string
  /** Ids of members the leader heard of lately; its own counts without being named. */
  readonly inContact: ReadonlySet<string>
}

/** Whether the cluster goes on without `id`. */
export function isSafeToRemove({ members, self, inContact }: RemovalView, id: string): boolean {
  const member = members.find((candidate) => candidate.id === id)
  if (member === undefined || id === self) return false
  if (member.role === 'learner') return true
  const rest = members.filter((other) => other.role === 'voter' && other.id !== id)
  const healthy = rest.filter((other) => other.id === self || inContact.has(other.id)).length
  return healthy >= Math.floor(rest.length / 2) + 1
}

export type Removal = {
  /** The next to go; null: nobody, or it is not safe. */
  readonly next: Member | null
  /** Those that wait for the quorum to allow it. */
  readonly held: readonly Member[]
}

/** One at a time: each removal changes what is safe. */
export function nextRemoval(view: RemovalView, departed: readonly string[]): Removal {
  const gone = view.members.filter(({ id }) => id !== view.self && departed.includes(id))
  const next = gone.find(({ id }) => isSafeToRemove(view, id)) ?? null
  return { next, held: next === null ? gone : [] }
}
