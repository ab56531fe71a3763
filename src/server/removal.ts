/**
 * Who is taken out of the Raft configuration, decided by the leader from what it knows now. Pure.
 *
 * Gossip's word alone removes nobody. A member goes because it said so itself, because an operator gave it up, or because
 * it failed and was replaced; the last two only while it does not answer Raft.
 *
 * The quorum stays safe: after a removal a majority of the voters that remain is in contact with the leader, so that
 * the removal itself, and what follows, can be committed. And of a cluster that is configured for n voters, servers are
 * removed only down to a quorum of n, also those that leave: below, an operator has to say so with
 * `operator raft remove-peer`.
 */
import type { Member } from '../raft/core/message.ts'

export type RemovalView = {
  readonly members: readonly Member[]
  /** The leader's id. */
  readonly self: string
  /** Ids of members the leader heard of lately; its own counts without being named. */
  readonly inContact: ReadonlySet<string>
  /** How many voters the cluster is meant to have: `bootstrap_expect`, or the most that this server has seen. */
  readonly configuredSize: number
}

export type Departure = {
  readonly id: string
  /** `left`: the server's own word. `givenUp`: an operator's. `dead`: it failed, and another has taken its place. */
  readonly why: 'left' | 'givenUp' | 'dead'
}

/** Why a member stays for now. */
export type Obstacle =
  /** It answers Raft, whatever is said of it. */
  | 'answers'
  /** Without it too few of the voters that remain are in contact. */
  | 'noMajority'
  /** Fewer voters than a quorum of the configured size would remain. */
  | 'belowConfiguredQuorum'

/** A cluster of one or two tolerates no failure anyway, and a single server is replaced by way of two: there each may leave. */
const guardedSizeMin = 3

export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1
}

/** Null: it may go. The member is one, and not the leader. */
export function obstacleTo(
  view: RemovalView,
  member: Member,
  why: Departure['why'],
): Obstacle | null {
  const { members, self, inContact, configuredSize } = view
  if (why !== 'left' && inContact.has(member.id)) return 'answers'
  if (member.role === 'learner') return null
  const rest = members.filter((other) => other.role === 'voter' && other.id !== member.id)
  const healthy = rest.filter((other) => other.id === self || inContact.has(other.id)).length
  if (healthy < quorumOf(rest.length)) return 'noMajority'
  const isGuarded = why !== 'left' || configuredSize >= guardedSizeMin
  return isGuarded && rest.length < quorumOf(configuredSize) ? 'belowConfiguredQuorum' : null
}

export type Removal = {
  /** The next to go; null: nobody, or something stands against it. */
  readonly next: { readonly member: Member; readonly why: Departure['why'] } | null
  /** Those that have to wait, and why. */
  readonly held: readonly { readonly member: Member; readonly obstacle: Obstacle }[]
}

/** One at a time: each removal changes what is safe. */
export function nextRemoval(view: RemovalView, departures: readonly Departure[]): Removal {
  const held: { readonly member: Member; readonly obstacle: Obstacle }[] = []
  for (const member of view.members) {
    const departure = departures.find(({ id }) => id === member.id)
    if (departure === undefined || member.id === view.self) continue
    const obstacle = obstacleTo(view, member, departure.why)
    if (obstacle === null) return { next: { member, why: departure.why }, held: [] }
    held.push({ member, obstacle })
  }
  return { next: null, held }
}
