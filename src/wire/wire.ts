/**
 * What every connection of one process shares: who it is, what it speaks, and what it learnt of others.
 * Built once by the composition root and handed to the server, the Raft transport and the links.
 */
import { credentials, type ChannelCredentials, ServerCredentials } from '@grpc/grpc-js'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type Logger, silentLogger } from '../lib/log.ts'
import { type Random, systemRandom } from '../lib/random.ts'
import { supportedVersions, type VersionRange, type WireIdentity } from './handshake.ts'

export type WireOptions = {
  /** Asked at every handshake: the cluster may be founded later. */
  readonly identity: () => WireIdentity
  readonly versions?: VersionRange
  /** Default: plain TCP. Mutual TLS comes in here. */
  readonly channelCredentials?: ChannelCredentials
  readonly serverCredentials?: ServerCredentials
  /** From the first packet of a dial to the end of the handshake. */
  readonly connectTimeoutMs?: number
  readonly clock?: Clock
  readonly random?: Random
  readonly logger?: Logger
}

const refusalLogIntervalMs = 60_000
/** Peers remembered; beyond it the oldest is forgotten. */
const peersMax = 1024

export class Wire {
  readonly identity: () => WireIdentity
  readonly versions: VersionRange
  readonly channelCredentials: ChannelCredentials
  readonly serverCredentials: ServerCredentials
  readonly connectTimeoutMs: number
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly #peerVersions = new Map<string, number>()
  readonly #refusalsLogged = new Map<string, number>()

  constructor(options: WireOptions) {
    this.identity = options.identity
    this.versions = options.versions ?? supportedVersions
    this.channelCredentials = options.channelCredentials ?? credentials.createInsecure()
    this.serverCredentials = options.serverCredentials ?? ServerCredentials.createInsecure()
    this.connectTimeoutMs = options.connectTimeoutMs ?? 2_000
    this.clock = options.clock ?? systemClock
    this.random = options.random ?? systemRandom
    this.logger = options.logger ?? silentLogger
  }

  /** The version agreed with this server at the last handshake; null: it was never met. */
  peerVersion(id: string): number | null {
    return this.#peerVersions.get(id) ?? null
  }

  /** What all of these servers can speak as far as known: a cluster of mixed versions runs at the lowest. */
  lowestVersion(ids: Iterable<string>): number {
    let lowest = this.versions.max
    for (const id of ids) lowest = Math.min(lowest, this.peerVersion(id) ?? lowest)
    return lowest
  }

  rememberVersion(id: string, version: number): void {
    rememberBounded(this.#peerVersions, id, version)
  }

  /** Logs why streams to or from `peer` are refused, once a minute: they are tried again and again. */
  logRefusal(peer: string, sentence: string): void {
    const now = this.clock.monotonicMs()
    const last = this.#refusalsLogged.get(peer)
    if (last !== undefined && now - last < refusalLogIntervalMs) return
    rememberBounded(this.#refusalsLogged, peer, now)
    this.logger.warn('stream refused', { peer, reason: sentence })
  }
}

function rememberBounded<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= peersMax) return
  const oldest = map.keys().next()
  if (oldest.done !== true) map.delete(oldest.value)
}
