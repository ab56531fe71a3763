/**
 * A server's part in a gossip pool: its member, what the other members mean for consensus, the search for the pool, and
 * the way out of it.
 */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { lanProfile, type GossipNode } from '../gossip/door.ts'
import { createGossip } from '../gossip/node.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import type { RaftStatus } from '../raft/door.ts'
import type { RaftNode } from '../raft/node.ts'
import { GossipKeys } from './gossip-keys.ts'
import { GossipPeers } from './gossip-peers.ts'
import { memberName, strangerTo, tagsOf, type ServerTags } from './gossip-tags.ts'
import { RetryJoin } from './retry-join.ts'

/** Of an address in `retry_join` that names no port. */
const defaultPort = 4648
/** A graceful leave that takes longer is cut off: the others notice the end, and an operator says the rest. */
const leaveMs = 5_000

export type GossipPoolOptions = {
  readonly name: string
  readonly tags: ServerTags
  readonly dataFolder: string
  /** IP addresses or names. */
  readonly bindAddress: string
  readonly advertiseAddress: string
  /** 0: any free one. */
  readonly port: number
  readonly retryJoin: readonly string[]
  readonly encrypt: string | null
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly onFatal: (error: unknown) => void
  /** A server came, or is at another address. */
  readonly onMoved: () => void
}

/** What this member tells of itself now. */
type SelfTags = { tags: ServerTags }

export class GossipPool {
  readonly gossip: GossipNode
  readonly peers: GossipPeers
  readonly #options: GossipPoolOptions
  readonly #self: SelfTags
  #retry: RetryJoin | null = null

  private constructor(options: GossipPoolOptions, self: SelfTags, gossip: GossipNode) {
    this.#options = options
    this.#self = self
    this.gossip = gossip
    this.peers = new GossipPeers({
      gossip,
      region: options.tags.region,
      selfId: options.tags.id,
      onMoved: options.onMoved,
    })
  }

  /** Listens. Throws `unavailable` for a port in use, `invalid_argument` for an address, `corrupt` for kept keys. */
  static async start(options: GossipPoolOptions): Promise<GossipPool> {
    const { logger, tags } = options
    const self: SelfTags = { tags }
    const kept = new GossipKeys(options.dataFolder)
    const gossip = createGossip({
      name: memberName(options.name, tags.region),
      tags: tagsOf(tags),
      bindAddress: await ipOf(options.bindAddress, 'bind_addr'),
      bindPort: options.port,
      advertise: await ipOf(options.advertiseAddress, 'advertise_addr'),
      joinPort: defaultPort,
      keys: kept.load(options.encrypt, logger),
      label: '',
      profile: lanProfile,
      clock: options.clock,
      random: options.random,
      logger,
      onFatal: options.onFatal,
      onKeysChanged: (keys) => kept.save(keys),
      ownerTag: 'id',
      refuses: (member) => strangerTo(self.tags, member),
    })
    const pool = new GossipPool(options, self, gossip)
    try {
      await gossip.start()
    } catch (error) {
      await pool.stop()
      throw error
    }
    const { endpoint } = gossip.local()
    logger.info('gossip listens', { endpoint, encrypted: gossip.encrypted })
    return pool
  }

  /** Where others reach this member. */
  get endpoint(): string {
    return this.gossip.local().endpoint
  }

  /**
   * Once this server belongs to a cluster it says so to the pool, and keeps servers of others out. Returns the way to
   * stop that.
   */
  follow(node: Pick<RaftNode, 'status' | 'onChange'>): () => void {
    const look = ({ configuration: { clusterId } }: RaftStatus): void => {
      if (clusterId === this.#self.tags.clusterId) return
      this.#self.tags = { ...this.#self.tags, clusterId }
      this.gossip.setTags(tagsOf(this.#self.tags))
    }
    look(node.status())
    return node.onChange(look)
  }

  /** Looks for the pool from now on. `known`: where members of the cluster are, for a server that comes back. */
  search(known: () => Promise<readonly string[]>): void {
    const { retryJoin, clock, random, logger } = this.#options
    const { gossip } = this
    this.#retry = new RetryJoin({ gossip, addresses: retryJoin, known, clock, random, logger })
    this.#retry.start()
  }

  /** Tells the others that this server leaves for good. Never rejects; takes 5 s at most. */
  async leave(): Promise<void> {
    const { clock, logger } = this.#options
    this.#retry?.stop()
    const late = Promise.withResolvers<void>()
    const timer = clock.setTimer(leaveMs, late.resolve)
    const left = this.gossip.leave().then(
      () => logger.info('left the gossip pool'),
      (error: unknown) => logger.warn('left the gossip pool unheard', { reason: textOf(error) }),
    )
    await Promise.race([left, late.promise])
    timer.cancel()
  }

  async stop(): Promise<void> {
    this.#retry?.stop()
    this.peers.stop()
    await this.gossip.stop()
    await this.#retry?.ended()
  }
}

async function ipOf(address: string, key: string): Promise<string> {
  if (isIP(address) !== 0) return address
  try {
    return (await lookup(address)).address
  } catch (error) {
    throw new MusterError(
      'invalid_argument',
      `${key}: ${address} has no IP address: ${textOf(error)}`,
      { cause: error },
    )
  }
}
