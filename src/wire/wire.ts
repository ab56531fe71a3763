/**
 * What every connection of one process shares: who it is, what it speaks, and what it learnt of others.
 * Built once by the composition root and handed to the server, the Raft transport and the links.
 */
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Logger, silentLogger } from '../lib/log.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { supportedVersions, type VersionRange, type WireIdentity } from './handshake.ts'
import { Refusals, rememberBounded } from './refusals.ts'
import type { WireTls } from './tls.ts'
import { TrafficByPath } from './traffic.ts'

export type WireOptions = {
  /** Asked at every handshake: the cluster may be founded later. */
  readonly identity: () => WireIdentity
  readonly versions?: VersionRange
  /** Null and default: plain TCP. */
  readonly tls?: WireTls | null
  /** From the first packet of a dial to the end of the handshake. */
  readonly connectTimeoutMs?: number
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
}

export class Wire {
  readonly identity: () => WireIdentity
  readonly versions: VersionRange
  readonly tls: WireTls | null
  readonly connectTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly refusals: Refusals
  readonly traffic = new TrafficByPath()
  readonly #peerVersions = new Map<string, number>()

  constructor(options: WireOptions) {
    this.identity = options.identity
    this.versions = options.versions ?? supportedVersions
    this.tls = options.tls ?? null
    this.connectTimeoutMs = options.connectTimeoutMs ?? 2_000
    this.clock = options.clock ?? systemClock
    this.random = options.random ?? systemRandom
    this.logger = options.logger ?? silentLogger
    this.refusals = new Refusals(this.clock, this.logger)
  }

  /** The version agreed with this server at the last handshake; null: it was never met. */
  peerVersion(id: string): number | null {
    return this.#peerVersions.get(id) ?? null
  }

  rememberVersion(id: string, version: number): void {
    rememberBounded(this.#peerVersions, id, version)
  }
}
