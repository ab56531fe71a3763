/**
 * The uplinks that this server holds. Heartbeats are answered here, and told to the leader together: one call a second with the
 * ids of those that were heard, however many they are.
 *
 * An uplink speaks for the node whose secret opened it, and for no other. One that does not register, or falls silent, is closed. An
 * agent that says that it stops is likely to start again, as for an upgrade: its node has the time of a missed heartbeat from then on,
 * whatever gossip says of its process.
 */
import { clientOf } from '../../lib/client-address.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { codeOf, MusterError, textOf, type ErrorCode } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { randomInteger, type Random } from '../../lib/random.ts'
import { TokenBuckets } from '../../lib/token-bucket.ts'
import type { AgentIdentity } from '../../rpc/agent-identity.ts'
import type { CallHandler, CallRequest } from '../../rpc/link.ts'
import type { MessageSocket } from '../../rpc/uplink-channels.ts'
import { ownRequest, Uplink, UplinkHost } from '../../rpc/uplink.ts'
import type { HeartbeatSettings } from './heartbeat-times.ts'
import { silentMsMax } from './heartbeat-times.ts'
import { agentStops, agentWords } from './uplink-words.ts'

/** Uplinks of one server, and of them those from one address. */
export const uplinksMax = 32_768
export const uplinksPerAddressMax = 4_096
/** Between two reports to the leader. */
const reportMs = 1_000
/** Nodes of one report. The others are in the next, at once. */
export const reportedMax = 4_096
const sweepMs = 5_000
/** An uplink whose agent has not registered by then is closed. */
const registerMsMax = 15_000
/** An agent that is asked whether it lives has this long to answer. */
const answerMs = 2_000
/** An agent that lost its way may open another uplink before this server knows. More than that are two agents of one node. */
const replacedRate = { perSecond: 1 / 20, burst: 3 }
/** Nodes of which that is counted. */
const replacedMax = 1_024
/** What the program of an agent does not do: the log names who does. */
const faults: ReadonlySet<ErrorCode> = new Set([
  'invalid_argument',
  'permission_denied',
  'rate_limited',
  'not_found',
  'not_implemented',
  'incompatible',
])

type Held = {
  readonly identity: AgentIdentity
  readonly uplink: Uplink
  readonly address: string
  isRegistered: boolean
  /** The state was replaced since it registered. */
  isOutdated: boolean
  heardMs: number
}

/** What the leader says to a report. */
export type ReportReply = { readonly unknown: readonly string[]; readonly ttlMs: number }

export type NodeUplinksOptions = {
  readonly settings: HeartbeatSettings
  /** See `agentCalls`. */
  readonly callsOf: (agent: AgentIdentity) => CallHandler
  /** Tells the leader who was heard. */
  readonly report: (ids: readonly string[]) => Promise<ReportReply>
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
}

export class NodeUplinks {
  readonly #options: NodeUplinksOptions
  readonly #host: UplinkHost
  readonly #held = new Map<string, Held>()
  readonly #byAddress = new Map<string, number>()
  readonly #heard = new Set<string>()
  /** Nodes whose agents said here that they stop, and when; no more than uplinks that were held. */
  readonly #stoppedMs = new Map<string, number>()
  readonly #replaced: TokenBuckets
  #ttlMs: number
  #reporting = false
  #reportTimer: Timer | null = null
  #sweepTimer: Timer | null = null
  #isStopped = false

  constructor(options: NodeUplinksOptions) {
    this.#options = options
    this.#host = new UplinkHost(options.clock, options.log)
    this.#replaced = new TokenBuckets(replacedRate, replacedMax, options.clock)
    this.#ttlMs = options.settings.ttlMsMin
  }

  get count(): number {
    return this.#held.size
  }

  /** Since the start: uplinks that were not opened, or were closed for what came over them. */
  get refusedCount(): number {
    return this.#host.refusedCount
  }

  stop(): void {
    this.#isStopped = true
    this.#reportTimer?.cancel()
    this.#sweepTimer?.cancel()
    for (const { uplink } of this.#held.values()) uplink.close('the server stops')
  }

  /** Throws `overloaded` or `rate_limited` where there is no place for one more. */
  admit(remote: string): void {
    if (this.#isStopped) throw new MusterError('unavailable', 'this server stops')
    if (this.#held.size >= uplinksMax) {
      throw this.#full('overloaded', remote, `${uplinksMax} uplinks are held here`)
    }
    if ((this.#byAddress.get(clientOf(remote)) ?? 0) >= uplinksPerAddressMax) {
      throw this.#full(
        'rate_limited',
        remote,
        `one address may hold ${uplinksPerAddressMax} uplinks`,
      )
    }
  }

  /** Names in the log why somebody may not have one. */
  refused(peer: string, error: unknown): void {
    this.#host.refused(peer, error)
  }

  /** The node's newest uplink is the one that counts. */
  accept(socket: MessageSocket, identity: AgentIdentity, remote: string): void {
    const { clock } = this.#options
    const { nodeId, name } = identity
    const address = clientOf(remote)
    const peer = `${name} (${nodeId}) at ${address}`
    const before = this.#held.get(nodeId)
    if (before !== undefined) this.#replace(before, peer)
    const uplink = new Uplink(socket, {
      host: this.#host,
      side: 'server',
      peer,
      onCall: this.#judged(identity, peer),
      onStream: () => Promise.reject(new MusterError('not_found', 'agents open no streams')),
      onClose: (reason) => this.#closed(held, reason),
    })
    const heardMs = clock.monotonicMs()
    const held: Held = {
      identity,
      uplink,
      address,
      isRegistered: false,
      isOutdated: false,
      heardMs,
    }
    this.#held.set(nodeId, held)
    this.#stoppedMs.delete(nodeId)
    this.#byAddress.set(address, (this.#byAddress.get(address) ?? 0) + 1)
    this.#sweepTimer ??= clock.setTimer(sweepMs, () => this.#sweep())
  }

  #replace({ uplink, identity: { nodeId } }: Held, peer: string): void {
    if (this.#replaced.take(nodeId) > 0) {
      const text = 'its uplinks replace each other: two agents may use the data folder of one node'
      this.#host.misbehaved(peer, new MusterError('conflict', text))
    }
    uplink.close('the agent opened another uplink')
  }

  /** What the agent asks; the log names what is refused to it. */
  #judged(identity: AgentIdentity, peer: string): CallHandler {
    const handle = this.#options.callsOf(identity)
    return async (request, signal) => {
      try {
        return await handle(request, signal)
      } catch (error) {
        if (faults.has(codeOf(error))) this.#host.misbehaved(peer, error)
        throw error
      }
    }
  }

  registered(nodeId: string): void {
    const held = this.#held.get(nodeId)
    if (held === undefined) return
    held.isRegistered = true
    held.isOutdated = false
  }

  /** The node's secret is not that of its record. */
  unproven(nodeId: string, error: unknown): void {
    const held = this.#held.get(nodeId)
    if (held === undefined) return
    this.#host.refused(`${held.identity.name} (${nodeId}) at ${held.address}`, error)
    held.uplink.close('the node is known by another secret')
  }

  /** Names in the log, once a minute, what an agent said that cannot be true. */
  misbehaved({ nodeId, name }: AgentIdentity, error: unknown): void {
    this.#host.misbehaved(`${name} (${nodeId})`, error)
  }

  /** What the agent is told: to be heard again before half of it is over. */
  heartbeat(nodeId: string): { readonly ttlMs: number } {
    const held = this.#held.get(nodeId)
    if (held?.isRegistered === true) {
      held.heardMs = this.#options.clock.monotonicMs()
      this.#hear(nodeId)
      if (held.isOutdated) this.forgotten(nodeId)
    }
    return { ttlMs: randomInteger(this.#options.random, this.#ttlMs, 2 * this.#ttlMs) }
  }

  /** The state is another one: with its next heartbeat each agent is asked to register again, until it did. */
  replaced(): void {
    for (const held of this.#held.values()) held.isOutdated = true
  }

  /** The record is gone, or older than what the agent said: it registers again. */
  forgotten(nodeId: string): void {
    const held = this.#held.get(nodeId)
    if (held === undefined) return
    held.uplink.call(ownRequest(agentWords.register, {}, answerMs)).catch((error: unknown) => {
      this.#options.log.debug('an agent did not register again', { nodeId, error: textOf(error) })
    })
  }

  /** Somebody says that the node is down; where its agent answers here, the leader is told. */
  async doubted(nodeId: string): Promise<void> {
    if (await this.#answers(nodeId)) this.#hear(nodeId)
  }

  /** Those of them whose uplinks are held here. `ask`: and whose agents answer over them now. */
  async holding(ids: readonly string[], ask: boolean): Promise<readonly string[]> {
    const held = ids.filter((id) => this.#held.has(id))
    if (!ask) return held
    const answers = await Promise.all(held.map((id) => this.#answers(id)))
    return held.filter((_, at) => answers[at])
  }

  /** Those of them whose agents said here that they stop, and may be back yet. */
  stopped(ids: readonly string[]): readonly string[] {
    return ids.filter((id) => this.#stoppedMs.has(id))
  }

  call(nodeId: string, request: CallRequest, signal: AbortSignal): Promise<unknown> {
    return this.#uplinkOf(nodeId).call(request, signal)
  }

  stream(
    nodeId: string,
    request: CallRequest,
    signal: AbortSignal,
  ): Promise<AsyncIterableIterator<unknown>> {
    return this.#uplinkOf(nodeId).stream(request, signal)
  }

  #uplinkOf(nodeId: string): Uplink {
    const held = this.#held.get(nodeId)
    if (held !== undefined) return held.uplink
    throw new MusterError('unavailable', `this server holds no uplink of node ${nodeId}`)
  }

  async #answers(nodeId: string): Promise<boolean> {
    const held = this.#held.get(nodeId)
    if (held === undefined) return false
    try {
      await held.uplink.call(ownRequest(agentWords.ping, {}, answerMs))
      return true
    } catch (error) {
      held.uplink.close(`the agent does not answer: ${textOf(error)}`)
      return false
    }
  }

  #closed(held: Held, reason: string): void {
    const { nodeId } = held.identity
    const count = (this.#byAddress.get(held.address) ?? 0) - 1
    if (count > 0) this.#byAddress.set(held.address, count)
    else this.#byAddress.delete(held.address)
    if (this.#held.get(nodeId) !== held) return
    this.#held.delete(nodeId)
    if (!held.isRegistered || reason !== agentStops || this.#isStopped) return
    this.#stoppedMs.set(nodeId, this.#options.clock.monotonicMs())
    this.#hear(nodeId)
  }

  #hear(nodeId: string): void {
    this.#heard.add(nodeId)
    if (!this.#isStopped && !this.#reporting) {
      this.#reportTimer ??= this.#options.clock.setTimer(reportMs, () => void this.#report())
    }
  }

  /** Never rejects. Those that the leader did not hear of are in the next report. */
  async #report(): Promise<void> {
    this.#reportTimer = null
    this.#reporting = true
    const ids = [...this.#heard].slice(0, reportedMax)
    for (const id of ids) this.#heard.delete(id)
    try {
      const { unknown, ttlMs } = await this.#options.report(ids)
      this.#ttlMs = ttlMs
      for (const id of unknown) this.forgotten(id)
    } catch (error) {
      for (const id of ids) if (this.#held.has(id)) this.#heard.add(id)
      this.#options.log.debug('heartbeats did not reach the leader', { error: textOf(error) })
    }
    this.#reporting = false
    if (this.#heard.size === 0 || this.#isStopped) return
    this.#reportTimer = this.#options.clock.setTimer(reportMs, () => void this.#report())
  }

  #sweep(): void {
    const { clock, settings } = this.#options
    const now = clock.monotonicMs()
    const silentMs = silentMsMax(this.#ttlMs, settings.graceMs)
    for (const { uplink, isRegistered, heardMs } of this.#held.values()) {
      const forMs = now - heardMs
      if (!isRegistered && forMs > registerMsMax) uplink.close('the agent did not register')
      else if (forMs > silentMs) uplink.close('no heartbeat came')
    }
    for (const [nodeId, stoppedMs] of this.#stoppedMs) {
      if (now - stoppedMs > silentMs) this.#stoppedMs.delete(nodeId)
    }
    const isIdle = this.#held.size === 0 && this.#stoppedMs.size === 0
    this.#sweepTimer =
      isIdle || this.#isStopped ? null : clock.setTimer(sweepMs, () => this.#sweep())
  }

  #full(code: 'overloaded' | 'rate_limited', remote: string, text: string): MusterError {
    const error = new MusterError(code, text)
    this.#host.refused(clientOf(remote), error)
    return error
  }
}
