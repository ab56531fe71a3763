/**
 * Who is a member, for the catalog's nodes: the servers as Raft has them, everyone else as gossip says. A server has failed
 * when it is silent on Raft and gossip, where there is one, does not call it alive.
 */
import type { KnownNodes, PoolAgent, ServerMember } from '../domains/catalog/duties.ts'
import type { GossipNode, MemberView } from '../gossip/gossip.ts'
import type { Clock } from '../lib/clock.ts'
import type { Raft } from '../raft/raft.ts'
import { clientOf, serverOf, type GossipClient } from '../gossip-pool/tags.ts'

/**
 * A server that the leader has not heard of for so long is silent; longer with slow elections. Alone that takes longer than
 * beside gossip, which has waited by itself.
 */
const silentMsMin = { alone: 5_000, besideGossip: 3_000 } as const
/** How often the leader looks whom it has heard, and the pause between looks after which it was held up itself. */
const lookMs = 1_000
const heldUpMs = 3_000
/** An agent that is asked back has this long to answer. */
const answerMs = 500

/** All events but that of reach mean something for a member's status, tags or address. */
const tellingEvents: readonly string[] = [
  'member-joined',
  'member-updated',
  'member-suspected',
  'member-trusted',
  'member-failed',
  'member-left',
  'member-reaped',
]

type MemberOptions = {
  /** Null: this server takes part in no gossip. */
  readonly gossip: Pick<GossipNode, 'members' | 'onEvent' | 'answers'> | null
  readonly node: Pick<Raft, 'status'>
  readonly config: {
    readonly region: string
    readonly datacenter: string
    readonly server: { readonly raft: { readonly electionMs: number } }
  }
  readonly clock: Clock
}

export function serverKnownNodes(options: MemberOptions): KnownNodes {
  const { gossip, config, clock } = options
  const silence = new RaftSilence(options)
  /** What gossip says, until it says something else: a pool may be large. */
  let living: ReadonlySet<string> | null = null
  const servers = (): readonly ServerMember[] => {
    if (gossip !== null) living ??= livingServers(gossip, config.region)
    return silence.look(living)
  }
  return {
    servers,
    agents: () => (gossip === null ? [] : poolAgents(gossip, config.region)),
    answers: async (endpoint, who) =>
      gossip === null ? null : gossip.answers(endpoint, who, answerMs),
    onChange(listener) {
      // Silence on Raft is no event.
      let statuses = ''
      let timer = clock.setTimer(lookMs, look)
      function look(): void {
        timer = clock.setTimer(lookMs, look)
        const before = statuses
        statuses = servers()
          .map(({ id, name, status }) => `${id} ${name} ${status}`)
          .join()
        if (statuses !== before) listener()
      }
      living = null
      const unsubscribe = gossip?.onEvent(({ type }) => {
        if (!tellingEvents.includes(type)) return
        living = null
        listener()
      })
      return () => {
        timer.cancel()
        unsubscribe?.()
      }
    },
  }
}

/** Ids that gossip calls alive, by whatever name. */
function livingServers(gossip: Pick<GossipNode, 'members'>, region: string): ReadonlySet<string> {
  return new Set(
    gossip.members().flatMap((member) => {
      const isUp = member.status === 'alive' || member.status === 'leaving'
      const server = isUp ? serverOf(member, region) : null
      return server === null ? [] : [server.id]
    }),
  )
}

function poolAgents(gossip: Pick<GossipNode, 'members'>, region: string): readonly PoolAgent[] {
  return gossip.members().flatMap((member): PoolAgent[] => {
    const known: GossipClient | null = serverOf(member, region) ?? clientOf(member, region)
    if (known === null) return []
    const { id, name } = known
    return [{ id, name, endpoint: member.endpoint, member: member.name, status: wordOf(member) }]
  })
}

/** An agent that is leaving still works. */
function wordOf({ status, suspected }: MemberView): PoolAgent['status'] {
  if (status === 'failed' || status === 'left') return status
  return suspected ? 'suspected' : 'alive'
}

class RaftSilence {
  readonly #options: MemberOptions
  readonly #silentMs: number
  // A new leader has heard of nobody yet, and one that was held up has heard of nobody meanwhile: silence counts anew.
  #counted = { term: 0, sinceMs: 0, lookedMs: 0 }

  constructor(options: MemberOptions) {
    this.#options = options
    const min = options.gossip === null ? silentMsMin.alone : silentMsMin.besideGossip
    this.#silentMs = Math.max(min, 2 * options.config.server.raft.electionMs)
  }

  /** `living`: ids of the servers that gossip calls alive; null: there is no gossip. */
  look(living: ReadonlySet<string> | null): readonly ServerMember[] {
    const { node, clock, config } = this.#options
    const status = node.status()
    const nowMs = clock.monotonicMs()
    const isNew = this.#counted.term !== status.term || nowMs - this.#counted.lookedMs > heldUpMs
    const sinceMs = isNew ? nowMs : this.#counted.sinceMs
    this.#counted = { term: status.term, sinceMs, lookedMs: nowMs }
    return status.configuration.members.map(({ id, name, address }): ServerMember => {
      const heardMs = status.followers.get(id)?.lastContact ?? 0
      const isSilent = nowMs - Math.max(heardMs, sinceMs) >= this.#silentMs
      const alive = id === status.id || !isSilent || living?.has(id) === true
      return {
        id,
        name,
        address: address.slice(0, address.lastIndexOf(':')).replaceAll(/[[\]]/g, ''),
        datacenter: config.datacenter,
        status: alive ? 'alive' : 'failed',
      }
    })
  }
}
