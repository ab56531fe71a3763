/**
 * A running member of a pool: the core, its loop and its transport behind `gossip.ts`, and the waiting of callers for what
 * the core tells later. Others import `createGossip` and `gossip.ts`, nothing behind them.
 */
import { codeOf, MusterError, textOf } from '../lib/errors.ts'
import { randomInteger } from '../lib/random.ts'
import { advertisedEndpoint, parsePlace, resolveName } from './addresses.ts'
import { GossipCore } from './core/core.ts'
import type { Endpoint } from './core/message.ts'
import type { GossipEvent as CoreEvent } from './core/ready.ts'
import type { Suspicion } from './core/suspicion.ts'
import type {
  Coordinate,
  GossipCounters,
  GossipEvent,
  GossipKeyring,
  GossipNode,
  GossipOptions,
  JoinResult,
  MemberView,
  SuspicionRecord,
  UserEvent,
} from './gossip.ts'
import { joinAll, unanswered, type JoinFailure } from './joining.ts'
import { InternalQueries } from './internal-queries.ts'
import { keyringOf, OwnKeys } from './keys.ts'
import { logCoreEvent, logEvent } from './log-lines.ts'
import { Admission } from './admission.ts'
import { GossipLoop } from './loop.ts'
import { Views } from './member-view.ts'
import { matchesPattern } from './pattern.ts'
import type { NameVerdict } from './name-vote.ts'
import { bindSockets, SocketTransport } from './sockets.ts'
import type { GossipTransport } from './transport.ts'
import { formatEndpoint, parseAddress } from './wire/address.ts'
import { createCodec } from './wire/core-codec.ts'
import { emptyCounters, type WireCounters } from './wire/counters.ts'
import { nameFrom } from './wire/fields.ts'
import type { Keyring } from './wire/keyring.ts'
import { PacketWire, type WireOptions } from './wire/packet.ts'
import { StreamWire } from './wire/stream.ts'
import { textBytes } from './wire/text.ts'

/** Suspicions kept to explain flaps. */
const suspicionsMax = 256
/** A question whose time ran out noticed so much later: this member was held up, see `answers`. */
const lateMsMax = 100

type Running = {
  readonly core: GossipCore
  readonly loop: GossipLoop
  readonly transport: GossipTransport
  readonly endpoint: Endpoint
}

export function createGossip(options: GossipOptions): GossipNode {
  return new Gossip(options)
}

class Gossip implements GossipNode {
  readonly keyring: GossipKeyring = {
    here: (operation) => this.#keys.apply(operation),
    everywhere: (operation, timeoutMs) => this.#queries.keysEverywhere(operation, timeoutMs),
  }
  readonly #options: GossipOptions
  readonly #wireOptions: WireOptions
  readonly #wireCounters: WireCounters = emptyCounters()
  readonly #keys: OwnKeys
  readonly #views: Views
  readonly #listeners = new Set<(event: GossipEvent) => void>()
  readonly #joins = new Map<number, (failure: JoinFailure | null) => void>()
  readonly #queries: InternalQueries
  readonly #suspicions: { readonly member: string; readonly suspicion: Suspicion }[] = []
  readonly #stopping = new AbortController()
  #running: Running | null = null
  #starting = false
  #leaving: PromiseWithResolvers<void> | null = null

  /** Throws invalid_argument for a name, a key or a label that cannot be sent. */
  constructor(options: GossipOptions) {
    if (nameFrom(textBytes(options.name)) !== options.name) {
      throw new MusterError(
        'invalid_argument',
        `${JSON.stringify(options.name)} cannot be a member's name; use 1 to 128 printable characters`,
      )
    }
    const keyring: Keyring | null = keyringOf(options.keys)
    this.#options = options
    this.#keys = new OwnKeys(keyring, (keys) => options.onKeysChanged?.(keys))
    this.#views = new Views(options.clock)
    this.#queries = new InternalQueries({
      name: options.name,
      keys: this.#keys,
      profile: options.profile,
      clock: options.clock,
      logger: options.logger,
      running: () => this.#require(),
    })
    this.#wireOptions = {
      label: options.label,
      keyring,
      compress: true,
      counters: this.#wireCounters,
    }
  }

  get name(): string {
    return this.#options.name
  }

  get encrypted(): boolean {
    return this.#wireOptions.keyring !== null
  }

  async start(): Promise<void> {
    if (this.#starting) throw new MusterError('conflict', 'gossip is started once')
    this.#starting = true
    const { name, tags, profile, random, clock, logger, advertise } = this.#options
    const { refuses = () => null, ownerTag = null } = this.#options
    const packetWire = new PacketWire(this.#wireOptions)
    const transport = await this.#listen(new StreamWire(this.#wireOptions))
    try {
      if (this.#stopping.signal.aborted) throw stopped()
      const endpoint = advertisedEndpoint(advertise, transport.endpoint)
      const core = new GossipCore(
        {
          name,
          endpoint,
          tags,
          profile: { ...profile, packetBytesMax: packetWire.contentBytesMax },
          random,
          codec: createCodec(matchesPattern),
          ownerTag,
        },
        clock.monotonicMs(),
      )
      const loop = new GossipLoop({
        core,
        transport,
        packetWire,
        admission: new Admission({ refuses, clock, logger }),
        clock,
        logger,
        onEvent: (event) => this.#told(event),
        onUnanswered: (id, text) => this.#endJoin(id, unanswered(text)),
        onExchanged: (id, error) => this.#endJoin(id, unanswered(error ?? 'it took too long')),
        onFatal: (error) => {
          this.#release()
          this.#options.onFatal(error)
        },
      })
      this.#running = { core, loop, transport, endpoint }
      loop.start()
    } catch (error) {
      this.#running = null
      await transport.close()
      throw error
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    const running = this.#running
    this.#release()
    await running?.loop.stop()
  }

  async join(addresses: readonly string[]): Promise<JoinResult> {
    const { endpoint } = this.#require()
    const { joinPort, clock, resolve = resolveName } = this.#options
    return joinAll(
      {
        self: endpoint,
        defaultPort: joinPort,
        clock,
        resolve,
        signal: this.#stopping.signal,
        joinThrough: (to) => this.#joinThrough(to),
      },
      addresses,
    )
  }

  members(): readonly MemberView[] {
    return this.#require()
      .core.members()
      .map((view) => this.#views.member(view))
  }

  member(name: string): MemberView | null {
    const view = this.#require().core.member(name)
    return view === null ? null : this.#views.member(view)
  }

  coordinates(): ReadonlyMap<string, Coordinate> {
    return this.#require().core.coordinates()
  }

  local(): MemberView {
    const own = this.member(this.name)
    if (own === null) throw new MusterError('internal', 'this member does not know itself')
    return own
  }

  leave(): Promise<void> {
    const { loop } = this.#require()
    if (this.#leaving === null) {
      this.#leaving = Promise.withResolvers()
      loop.input((core, now) => core.leave(now))
    }
    return this.#leaving.promise
  }

  forceLeave(name: string, prune: boolean): void {
    this.#require().loop.input((core, now) => core.forceLeave(name, prune, now))
  }

  async answers(endpoint: string, who: string, timeoutMs: number): Promise<boolean | null> {
    const { host, port } = parsePlace(endpoint, 0)
    const address = parseAddress(host)
    if (address === null) {
      throw new MusterError('invalid_argument', `${endpoint} is no IP address and port`)
    }
    const { transport, loop } = this.#require()
    const { random, clock } = this.#options
    const sequence = randomInteger(random, 0, 2 ** 32)
    const askedMs = clock.monotonicMs()
    try {
      await transport.ping(
        { address, port },
        { type: 'ping', sequence, node: who, source: null },
        timeoutMs,
      )
      loop.input((core, now) => core.meet({ address, port }, now))
      return true
    } catch (error) {
      const code = codeOf(error)
      // Too many streams are open here, this member stops, or it was held up and the answer lies unread: that says
      // nothing of the other.
      const isLate = code === 'timeout' && clock.monotonicMs() - askedMs > timeoutMs + lateMsMax
      return code === 'overloaded' || code === 'cancelled' || isLate ? null : false
    }
  }

  setTags(tags: ReadonlyMap<string, string>): void {
    this.#require().loop.input((core, now) => core.setTags(tags, now))
  }

  sendUserEvent(name: string, payload: Uint8Array, coalesce: boolean): void {
    this.#require().loop.input((core, now) => core.userEvent({ name, payload }, coalesce, now))
  }

  onUserEvent(listener: (event: UserEvent) => void): () => void {
    return this.onEvent((event) => {
      if (event.type === 'user-event') listener(event)
    })
  }

  onEvent(listener: (event: GossipEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
    }
  }

  counters(): GossipCounters {
    const { core, transport } = this.#require()
    return {
      core: core.counters,
      messages: core.messages,
      wire: this.#wireCounters,
      carrier: carrierStats(transport),
      sizes: core.sizes,
      healthScore: core.healthScore,
      membersByStatus: core.membersByStatus,
      lamport: core.lamportTimes,
    }
  }

  suspicions(): readonly SuspicionRecord[] {
    return this.#suspicions.map(({ member, suspicion }) => this.#views.suspicion(member, suspicion))
  }

  #listen(wire: StreamWire): Promise<GossipTransport> {
    const { bindAddress: host, bindPort: port, clock, logger, listen } = this.#options
    return listen?.(wire) ?? bindSockets({ host, port, wire, clock, logger })
  }

  #require(): Running {
    if (this.#running !== null) return this.#running
    throw this.#stopping.signal.aborted
      ? stopped()
      : new MusterError('unavailable', 'gossip is not started yet')
  }

  /** No caller waits any longer for what cannot come. */
  #release(): void {
    this.#running = null
    for (const id of this.#joins.keys()) this.#endJoin(id, unanswered('gossip stops'))
    this.#queries.release(stopped())
    this.#leaving?.reject(stopped())
    this.#listeners.clear()
  }

  #joinThrough(to: Endpoint): Promise<JoinFailure | null> {
    return new Promise((resolve) => {
      try {
        const { core, loop } = this.#require()
        if (core.leaving !== null) throw new MusterError('conflict', 'this member is leaving')
        loop.input((core, now) => this.#joins.set(core.join(to, false, now), resolve))
      } catch (error) {
        resolve(unanswered(textOf(error)))
      }
    })
  }

  #endJoin(id: number, failure: JoinFailure | null): void {
    const resolve = this.#joins.get(id)
    this.#joins.delete(id)
    resolve?.(failure)
  }

  #told(event: CoreEvent): void {
    switch (event.type) {
      case 'joined-through':
        this.#endJoin(event.id, event.error === null ? null : { text: event.error, answered: true })
        return
      case 'left-pool':
        this.#leaving?.resolve()
        return
      case 'query':
        this.#queries.asked(event.query)
        return
      case 'query-answered':
        if (!event.ack) this.#queries.answered(event.id, event.from, event.payload)
        return
      case 'query-ended':
        this.#queries.ended(event.id)
        return
      case 'refuted':
      case 'held-up':
      case 'exchange-failed':
        logCoreEvent(this.#options.logger, event)
        return
      case 'user-event':
        this.#tell(event)
        return
      case 'name-conflict': {
        const { type, name, known, claimed, own } = event
        this.#tell({
          type,
          name,
          known: formatEndpoint(known),
          claimed: formatEndpoint(claimed),
          own,
        })
        if (own) this.#queries.nameClaimed(known, (verdict) => this.#nameVoted(verdict))
        return
      }
      case 'member-suspected':
        if (this.#suspicions.length >= suspicionsMax) this.#suspicions.shift()
        this.#suspicions.push({ member: event.member.name, suspicion: event.suspicion })
        this.#tell({ type: event.type, member: this.#views.member(event.member) })
        return
      case 'member-trusted':
        this.#tell({ type: event.type, member: this.#views.member(event.member) })
        return
      default:
        this.#tell({ ...event, member: this.#views.member(event.member) })
    }
  }

  #nameVoted({ outcome, answers, forThis, holder }: NameVerdict): void {
    const { name } = this
    const other = holder === null ? null : formatEndpoint(holder)
    this.#tell({ type: 'name-vote', name, outcome, answers, forThis, holder: other })
  }

  #tell(event: GossipEvent): void {
    const { logger } = this.#options
    logEvent(logger, event)
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        logger.error('a listener of gossip events failed', {
          event: event.type,
          error: textOf(error),
        })
      }
    }
  }
}

function stopped(): MusterError {
  return new MusterError('unavailable', 'gossip has stopped')
}

function carrierStats(transport: GossipTransport): GossipCounters['carrier'] {
  const { packetStats, streamStats } = transport instanceof SocketTransport ? transport : noStats
  return {
    ...packetStats,
    streamsAccepted: streamStats.accepted,
    streamsOpened: streamStats.opened,
    streamsTurnedAway: streamStats.turnedAway,
    streamsTimedOut: streamStats.timedOut,
  }
}

/** Of a carrier that keeps none. */
const noStats = {
  packetStats: {
    packetsSent: 0,
    packetsReceived: 0,
    bytesSent: 0,
    bytesReceived: 0,
    packetsDropped: 0,
    sendErrors: 0,
  },
  streamStats: { accepted: 0, opened: 0, turnedAway: 0, timedOut: 0 },
}
