/**
 * How the servers fare as the leader sees it, looked at once in a round of membership: who is healthy and for how long,
 * and which failed ones may go because another has taken their place. Only what this leader saw itself counts; a new
 * leader begins to look anew.
 */
import type { ClusterHealth, ServerHealth } from '../domains/autopilot/services.ts'
import type { AutopilotConfig } from '../domains/autopilot/model.ts'
import type { Clock } from '../lib/clock.ts'
import type { Member } from '../raft/core/message.ts'
import type { RaftStatus } from '../raft/raft.ts'
import type { GossipServer } from '../gossip-pool/tags.ts'

export type AutopilotOptions = {
  readonly selfId: string
  /** Of the program. */
  readonly version: string
  readonly status: () => RaftStatus
  readonly config: () => AutopilotConfig
  /** The other servers in the pool, also those that failed; null: there is no gossip. */
  readonly pool: () => readonly GossipServer[] | null
  readonly heartbeatMs: number
  readonly clock: Clock
}

type Seen = {
  readonly healthy: boolean
  readonly sinceMs: number
  readonly sinceWallMs: number
  /** When it became a member, monotonic; null: it was one before this leader looked. */
  readonly joinedMs: number | null
}

export class Autopilot {
  readonly #options: AutopilotOptions
  /** The term it looks at; 0: this server does not lead. */
  #term = 0
  #seen = new Map<string, Seen>()
  /** Servers that have taken the place of a removed one. */
  readonly #used = new Set<string>()
  /** The leader's last index one look ago: a healthy follower holds about that. */
  #expectedIndex = 0

  constructor(options: AutopilotOptions) {
    this.#options = options
  }

  /** Once in a round. Forgets everything while this server does not lead. */
  observe(): void {
    const { status: statusOf, clock } = this.#options
    const status = statusOf()
    if (status.role !== 'leader' || status.term !== this.#term) {
      this.#seen = new Map()
      this.#used.clear()
      this.#expectedIndex = status.lastIndex
    }
    const isFirst = this.#seen.size === 0
    this.#term = status.role === 'leader' ? status.term : 0
    if (this.#term === 0) return
    const nowMs = clock.monotonicMs()
    const wallMs = clock.wallMs()
    const next = new Map<string, Seen>()
    for (const member of status.configuration.members) {
      const healthy = this.#isHealthy(status, member)
      const before = this.#seen.get(member.id)
      const goesOn = before !== undefined && before.healthy === healthy
      next.set(member.id, {
        healthy,
        sinceMs: goesOn ? before.sinceMs : nowMs,
        sinceWallMs: goesOn ? before.sinceWallMs : wallMs,
        joinedMs: before === undefined ? (isFirst ? null : nowMs) : before.joinedMs,
      })
    }
    this.#seen = next
    this.#expectedIndex = status.lastIndex
  }

  /** Healthy for long enough to become a voter. */
  isStable(id: string): boolean {
    const seen = this.#seen.get(id)
    if (seen === undefined || !seen.healthy) return false
    const { config, clock } = this.#options
    return clock.monotonicMs() - seen.sinceMs >= config().stabilizationMs
  }

  /** Failed voters that another has replaced. That the quorum stays safe is for others to see to. */
  dead(): readonly string[] {
    const { config: configOf, pool, status } = this.#options
    const config = configOf()
    const servers = pool()
    if (!config.cleanupDeadServers || servers === null || this.#term === 0) return []
    const voters = status().configuration.members.filter(({ role }) => role === 'voter')
    if (voters.length <= Math.max(1, config.quorumMin)) return []
    return servers
      .filter(({ id, member }) => {
        const failed = member.status === 'failed' && member.goneAtMs !== null
        return failed && voters.some((voter) => voter.id === id) && this.#isReplaced(voters, id)
      })
      .map(({ id }) => id)
  }

  /** One of `dead` was removed: its replacement does not stand for another. */
  removed(id: string): void {
    const { pool, status } = this.#options
    const gone = pool()?.find((server) => server.id === id)
    if (gone === undefined || gone.member.status !== 'failed') return
    const replacement = this.#replacements(status().configuration.members, id)[0]
    if (replacement !== undefined) this.#used.add(replacement.id)
  }

  /** At the leader. */
  health(): ClusterHealth {
    const { status: statusOf, clock } = this.#options
    const status = statusOf()
    const servers = status.configuration.members.map((member): ServerHealth => {
      const isSelf = member.id === status.id
      const progress = status.followers.get(member.id)
      const heard = progress === undefined ? null : clock.monotonicMs() - progress.lastContact
      const known = this.#gossipOf(member.id)
      const seen = this.#seen.get(member.id)
      const healthy = this.#isHealthy(status, member)
      return {
        id: member.id,
        name: member.name,
        address: member.address,
        gossipStatus:
          isSelf && this.#options.pool() !== null ? 'alive' : (known?.member.status ?? ''),
        version: isSelf ? this.#options.version : (known?.version ?? ''),
        isLeader: isSelf,
        isVoter: member.role === 'voter',
        lastContactMs: isSelf ? 0 : heard !== null && Number.isFinite(heard) ? heard : null,
        lastTerm: status.term,
        lastIndex: isSelf ? status.lastIndex : (progress?.match ?? 0),
        healthy,
        stableSinceMs: seen?.healthy === healthy ? seen.sinceWallMs : clock.wallMs(),
      }
    })
    const voters = servers.filter(({ isVoter }) => isVoter)
    const healthyVoters = voters.filter(({ healthy }) => healthy).length
    const quorum = Math.floor(voters.length / 2) + 1
    return {
      healthy: servers.every(({ healthy }) => healthy),
      failureTolerance: Math.max(0, healthyVoters - quorum),
      servers,
    }
  }

  #isHealthy(status: RaftStatus, { id }: Member): boolean {
    if (id === status.id) return true
    const { config: configOf, heartbeatMs, clock } = this.#options
    const config = configOf()
    const progress = status.followers.get(id)
    if (progress === undefined) return false
    const silentMs = clock.monotonicMs() - progress.lastContact
    if (!(silentMs <= config.lastContactMs + heartbeatMs)) return false
    const gossip = this.#gossipOf(id)?.member.status
    if (gossip === 'failed' || gossip === 'left') return false
    return progress.match >= this.#expectedIndex - config.trailingLogsMax
  }

  #isReplaced(voters: readonly Member[], gone: string): boolean {
    return this.#replacements(voters, gone).length > 0
  }

  /** Those that came once this leader heard `gone` no more: gossip notices seconds later, and a supervisor may be quicker. */
  #replacements(members: readonly Member[], gone: string): readonly Member[] {
    const lastHeardMs = this.#options.status().followers.get(gone)?.lastContact ?? Infinity
    return members.filter(({ id, role }) => {
      const seen = this.#seen.get(id)
      if (role !== 'voter' || seen === undefined || !seen.healthy || this.#used.has(id))
        return false
      return seen.joinedMs !== null && seen.joinedMs > lastHeardMs
    })
  }

  #gossipOf(id: string): GossipServer | undefined {
    const servers = this.#options.pool()?.filter((server) => server.id === id) ?? []
    return servers.find(({ member }) => member.status === 'alive') ?? servers[0]
  }
}
