/** What the members of a gossip pool mean for consensus: who is up, and where they are said to be. */
import type { GossipEvent, GossipNode, MemberView } from '../gossip/gossip.ts'
import { serverOf, type GossipServer } from '../gossip-pool/tags.ts'
import type { KnownServer, PeerSource } from './peer-source.ts'
import type { ProvenAddresses } from './proven-addresses.ts'

/** Servers as gossip knows them, members where they are proven to be. */
export function gossipPeers(peers: GossipPeers, proven: ProvenAddresses): PeerSource {
  return {
    servers: () => peers.servers(),
    addressOf: (member) => proven.addressOf(member),
    look: () => proven.look(),
    presenceIsMembership: true,
  }
}

export class GossipPeers {
  readonly #gossip: Pick<GossipNode, 'members' | 'onEvent' | 'name'>
  readonly #region: string
  readonly #selfId: string
  readonly #onMoved: () => void
  readonly #unsubscribe: () => void
  #servers: readonly GossipServer[] | null = null

  constructor(options: {
    readonly gossip: Pick<GossipNode, 'members' | 'onEvent' | 'name'>
    readonly region: string
    readonly selfId: string
    /** A server came, or is at another address. */
    readonly onMoved: () => void
  }) {
    this.#gossip = options.gossip
    this.#region = options.region
    this.#selfId = options.selfId
    this.#onMoved = options.onMoved
    this.#unsubscribe = options.gossip.onEvent((event) => this.#heard(event))
  }

  stop(): void {
    this.#unsubscribe()
  }

  servers(): readonly KnownServer[] {
    return this.#others().filter(({ member }) => isUp(member))
  }

  /** Where it says that it is: anyone may have said so. */
  claimedAddress(id: string): string | null {
    return this.#others().find((server) => server.id === id && isUp(server.member))?.address ?? null
  }

  /** All servers of the region but this one, whatever their status. */
  known(): readonly GossipServer[] {
    return this.#others()
  }

  #others(): readonly GossipServer[] {
    this.#servers ??= this.#gossip.members().flatMap((member) => {
      const server = member.name === this.#gossip.name ? null : serverOf(member, this.#region)
      return server === null || server.id === this.#selfId ? [] : [server]
    })
    return this.#servers
  }

  #heard(event: GossipEvent): void {
    if (!('member' in event)) return
    this.#servers = null
    const server = serverOf(event.member, this.#region)
    if (server === null || server.id === this.#selfId) return
    if (event.type === 'member-joined' || event.type === 'member-updated') this.#onMoved()
  }
}

function isUp({ status }: MemberView): boolean {
  return status === 'alive' || status === 'leaving'
}
