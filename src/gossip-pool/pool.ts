/** A member's part in a gossip pool: joining, the search for the pool, and the way out of it. */
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { lanProfile, type GossipNode, type GossipOptions } from '../gossip/gossip.ts'
import { createGossip } from '../gossip/node.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'
import { within } from '../lib/async.ts'
import { GossipKeys } from './keys.ts'
import { RetryJoin } from './retry-join.ts'

/** Of an address in `retry_join` that names no port. */
const defaultPort = 4648
/** A graceful leave that takes longer is cut off: the others notice the end, and an operator says the rest. */
const leaveMs = 5_000

export type GossipPoolOptions = {
  /** Unique in the pool. */
  readonly name: string
  readonly tags: ReadonlyMap<string, string>
  /** Why a member is kept out; null: it is not. Absent: nobody is. */
  readonly refuses?: NonNullable<GossipOptions['refuses']>
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
}

export class GossipPool {
  readonly gossip: GossipNode
  readonly #options: GossipPoolOptions
  #retry: RetryJoin | null = null

  private constructor(options: GossipPoolOptions, gossip: GossipNode) {
    this.#options = options
    this.gossip = gossip
  }

  /** Listens. Throws `unavailable` for a port in use, `invalid_argument` for an address, `corrupt` for kept keys. */
  static async start(options: GossipPoolOptions): Promise<GossipPool> {
    const { logger, refuses } = options
    const kept = new GossipKeys(options.dataFolder)
    const gossip = createGossip({
      name: options.name,
      tags: options.tags,
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
      ...(refuses !== undefined && { refuses }),
    })
    const pool = new GossipPool(options, gossip)
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

  /** Looks for the pool from now on. `known`: where others are, for a member that comes back. */
  search(known: () => Promise<readonly string[]>): void {
    const { retryJoin, clock, random, logger } = this.#options
    const { gossip } = this
    this.#retry = new RetryJoin({ gossip, addresses: retryJoin, known, clock, random, logger })
    this.#retry.start()
  }

  /** Tells the others that this member leaves for good. Never rejects; takes 5 s at most. */
  async leave(): Promise<void> {
    const { clock, logger } = this.#options
    this.#retry?.stop()
    const left = this.gossip.leave().then(
      () => logger.info('left the gossip pool'),
      (error: unknown) => logger.warn('left the gossip pool unheard', { reason: textOf(error) }),
    )
    await within(left, clock, leaveMs)
  }

  async stop(): Promise<void> {
    this.#retry?.stop()
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
