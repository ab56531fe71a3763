/** Consensus as operators see and change it: the Raft node, and what gossip and connections tell of its members. */
import type { RaftControl, ServerStatus } from '../domains/operator/raft.ts'
import type { Clock } from '../lib/clock.ts'
import type { GossipServer } from '../gossip-pool/tags.ts'
import type { Raft } from '../raft/raft.ts'

export type RaftControlOptions = {
  readonly node: Pick<Raft, 'status' | 'lastContactMs' | 'transferLeadership' | 'changeMembership'>
  /** Its connection closed and a new one was refused; none was made since. */
  readonly isGone: (id: string) => boolean
  /** The other servers in the pool, also those that failed; none without gossip. */
  readonly pool: () => readonly Pick<GossipServer, 'id' | 'member'>[]
  /** Between leader and follower: longer silence counts as failure. */
  readonly silentMs: number
  readonly clock: Pick<Clock, 'monotonicMs'>
}

export function raftControl(options: RaftControlOptions): RaftControl {
  const { node, isGone } = options
  return {
    status: () => node.status(),
    statusOf: (id) => statusOf(options, id),
    isGone,
    transferLeadership: (target, deadlineMs) => node.transferLeadership(target, deadlineMs),
    changeMembership: (change) => node.changeMembership(change),
  }
}

function statusOf(options: RaftControlOptions, id: string): ServerStatus {
  const { node, isGone, pool, silentMs, clock } = options
  const { id: self, role, leaderId, followers } = node.status()
  if (id === self) return 'alive'
  const known = pool().filter((server) => server.id === id)
  const { member } = known.find((server) => server.member.status === 'alive') ?? known[0] ?? {}
  if (member?.status === 'left' || member?.status === 'failed') return member.status
  // A closed port is seen sooner than missing answers to gossip.
  if (isGone(id)) return 'failed'
  if (member !== undefined) return 'alive'
  if (role === 'leader') {
    const heardMs = followers.get(id)?.lastContact ?? -Infinity
    return clock.monotonicMs() - heardMs <= silentMs ? 'alive' : 'failed'
  }
  return id === leaderId && node.lastContactMs() <= silentMs ? 'alive' : 'unknown'
}
