/** What the members of a gossip pool mean for consensus: who is up, where they are dialed, who left for good. */
import type { GossipEvent, GossipNode, MemberView } from '../gossip/door.ts'
import { serverOf, type GossipServer } from '../member/gossip-tags.ts'
import type { KnownServer, PeerSource } from './peer-source.ts'

/** Ids of servers that left, kept beyond their names; the oldest is forgotten first. */
const departedMax = 1_024

export class GossipPeers implements PeerSource {
  readonly presenceIsMembership = true
  readonly #gossip: Pick<GossipNode, 'members' | 'onEvent' | 'name'>
  readonly #region: string
  readonly #selfId: string
  readonly #onMoved: () => void
  readonly #unsubscribe: () => void
  /** A pruned member is off the list at once, and was a server that left all the same. */
  readonly #departed = new Set<string>()
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

  addressOf({ id }: { readonly id: string }): string | null {
    return this.#others().find((server) => server.id === id && isUp(server.member))?.address ?? null
  }

  departed(): readonly string[] {
    const servers = this.#others()
    const here = new Set(servers.filter(({ member }) => !isGone(member)).map(({ id }) => id))
    const left = servers.filter(({ member }) => member.status === 'left').map(({ id }) => id)
    return [...new Set([...this.#departed, ...left])].filter((id) => !here.has(id))
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
    if (event.type === 'member-left') {
      this.#departed.add(server.id)
      for (const oldest of this.#departed) {
        if (this.#departed.size <= departedMax) break
        this.#departed.delete(oldest)
      }
    } else if (event.type === 'member-joined' || event.type === 'member-updated') {
      if (isUp(event.member)) this.#departed.delete(server.id)
      this.#onMoved()
    }
  }
}

function isUp({ status }: MemberView): boolean {
  return status === 'alive' || status === 'leaving'
}

/** A failed one may come back: only one that left is gone. */
function isGone({ status }: MemberView): boolean {
  return status === 'left'
}
