/** Who is a member of the cluster, for the catalog's nodes: as gossip sees it, or without gossip as Raft's leader does. */
import type { AgentMember, AgentMembers } from '../domains/catalog/duties.ts'
import type { GossipNode } from '../gossip/door.ts'
import type { Clock } from '../lib/clock.ts'
import type { RaftNode } from '../raft/node.ts'
import { clientOf, serverOf } from '../member/gossip-tags.ts'

/** Without gossip: a server that the leader has not heard of for so long has failed; longer with slow elections. */
const silentFailedMsMin = 5_000
/** How often the leader looks whom it has heard, and the pause between looks after which it was held up itself. */
const lookMs = 1_000
const heldUpMs = 3_000

/** All events but those of suspicion and reach mean something for a member's status, tags or address. */
const tellingEvents: readonly string[] = [
  'member-joined',
  'member-updated',
  'member-failed',
  'member-left',
  'member-reaped',
]

type MemberOptions = {
  /** Null: this server takes part in no gossip. */
  readonly gossip: Pick<GossipNode, 'members' | 'onEvent'> | null
  readonly node: Pick<RaftNode, 'status'>
  readonly config: {
    readonly region: string
    readonly datacenter: string
    readonly server: { readonly raft: { readonly electionMs: number } }
  }
  /** Of the program. */
  readonly version: string
  readonly clock: Clock
}

export function agentMembers(options: MemberOptions): AgentMembers {
  const { gossip, config } = options
  return gossip === null ? raftMembers(options) : gossipMembers(gossip, config.region)
}

function gossipMembers(
  gossip: Pick<GossipNode, 'members' | 'onEvent'>,
  region: string,
): AgentMembers {
  return {
    list: () =>
      gossip.members().flatMap((member): AgentMember[] => {
        const known = serverOf(member, region) ?? clientOf(member, region)
        if (known === null) return []
        const { status, tags, address } = member
        return [
          {
            id: known.id,
            name: known.name,
            address,
            datacenter: tags.get('dc') ?? '',
            meta: [['muster-version', known.version]],
            // Whoever is leaving still works.
            status: status === 'leaving' ? 'alive' : status,
          },
        ]
      }),
    onChange: (listener) =>
      gossip.onEvent(({ type }) => {
        if (tellingEvents.includes(type)) listener()
      }),
  }
}

function raftMembers({ node, config, version, clock }: MemberOptions): AgentMembers {
  const silentFailedMs = Math.max(silentFailedMsMin, 2 * config.server.raft.electionMs)
  // A new leader has heard of nobody yet, and one that was held up has heard of nobody meanwhile: silence counts anew.
  let counted = { term: 0, sinceMs: 0, lookedMs: 0 }
  return {
    list() {
      const status = node.status()
      const nowMs = clock.monotonicMs()
      const anew = counted.term !== status.term || nowMs - counted.lookedMs > heldUpMs
      const sinceMs = anew ? nowMs : counted.sinceMs
      counted = { term: status.term, sinceMs, lookedMs: nowMs }
      return status.configuration.members.map(({ id, name, address }): AgentMember => {
        const heardMs = status.followers.get(id)?.lastContact ?? 0
        const silentMs = nowMs - Math.max(heardMs, sinceMs)
        const alive = id === status.id || silentMs < silentFailedMs
        return {
          id,
          name,
          address: address.slice(0, address.lastIndexOf(':')).replaceAll(/[[\]]/g, ''),
          datacenter: config.datacenter,
          meta: [['muster-version', version]],
          status: alive ? 'alive' : 'failed',
        }
      })
    },
    onChange(listener) {
      let timer = clock.setTimer(lookMs, look)
      function look(): void {
        timer = clock.setTimer(lookMs, look)
        listener()
      }
      return () => timer.cancel()
    },
  }
}
