/** A server in its gossip pool: what it tells of itself, and what the other members mean for consensus. */
import { GossipPool, type GossipPoolOptions } from '../gossip-pool/pool.ts'
import { memberName, strangerTo, tagsOf, type ServerTags } from '../gossip-pool/tags.ts'
import type { HttpAddress } from '../lib/host-port.ts'
import type { Raft, RaftStatus } from '../raft/raft.ts'
import { GossipPeers } from './gossip-peers.ts'

export type ServerPoolOptions = Omit<GossipPoolOptions, 'name' | 'tags' | 'refuses'> & {
  readonly name: string
  readonly tags: ServerTags
  /** A server came, or is at another address. */
  readonly onMoved: () => void
}

export class ServerPool {
  readonly peers: GossipPeers
  readonly #pool: GossipPool
  readonly #self: SelfTags

  private constructor(pool: GossipPool, self: SelfTags, onMoved: () => void) {
    this.#pool = pool
    this.#self = self
    const { region, id } = self.tags
    this.peers = new GossipPeers({ gossip: pool.gossip, region, selfId: id, onMoved })
  }

  /** As `GossipPool.start`. */
  static async start({ tags, onMoved, ...options }: ServerPoolOptions): Promise<ServerPool> {
    const self: SelfTags = { tags }
    const pool = await GossipPool.start({
      ...options,
      name: memberName(options.name, tags.region),
      tags: tagsOf(tags),
      refuses: (member) => strangerTo(self.tags, member),
    })
    return new ServerPool(pool, self, onMoved)
  }

  get gossip() {
    return this.#pool.gossip
  }

  /** Where others reach this member. */
  get endpoint(): string {
    return this.gossip.local().endpoint
  }

  /**
   * Once this server belongs to a cluster it says so to the pool, and keeps servers of others out. Returns the way to
   * stop that.
   */
  follow(node: Pick<Raft, 'status' | 'onChange'>): () => void {
    const look = ({ configuration: { clusterId } }: RaftStatus): void => this.#tell({ clusterId })
    look(node.status())
    return node.onChange(look)
  }

  /** Tells client agents where the API is. */
  serves(http: HttpAddress | null): void {
    this.#tell({ http })
  }

  search(known: () => Promise<readonly string[]>): void {
    this.#pool.search(known)
  }

  leave(): Promise<void> {
    return this.#pool.leave()
  }

  async stop(): Promise<void> {
    this.peers.stop()
    await this.#pool.stop()
  }

  #tell(change: Partial<ServerTags>): void {
    const tags = { ...this.#self.tags, ...change }
    if (tags.clusterId === this.#self.tags.clusterId && tags.http === this.#self.tags.http) return
    this.#self.tags = tags
    this.gossip.setTags(tagsOf(tags))
  }
}

/** What this member tells of itself now. */
type SelfTags = { tags: ServerTags }
