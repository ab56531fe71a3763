/**
 * The driver: a thin loop around the core. Inputs come from the transport, the disk, the state machine, timers and
 * callers; after a turn's inputs one `Ready` is taken and performed in the order that its type demands.
 *
 * `raft.ts` is the entry point of the folder; the server's composition (`server/consensus-stack.ts`) alone makes a `RaftNode`.
 */
import type { Timer } from '../lib/clock.ts'
import { MusterError, textOf } from '../lib/errors.ts'
import { Applier } from './applier.ts'
import { assertWanted, behindError, errorOf, stoppedError, type Signal } from './node-errors.ts'
import { RaftCore } from './core/core.ts'
import type { Configuration, LogIndex, Message, ServerId } from './core/message.ts'
import { forgetfulText, type Fetch, type Ready } from './core/ready.ts'
import type {
  MembershipChange,
  ProposeOptions,
  Raft,
  RaftNodeOptions,
  RaftStatus,
  ReadMode,
} from './raft.ts'
import { Snapshots } from './snapshots.ts'
import type { Peer } from './transport/transport.ts'
import { isStateLost, LostState } from './lost-state.ts'
import { ReadQuestions } from './read-questions.ts'
import { startOf } from './startup.ts'
import { Suspension } from './suspension.ts'
import { DeadlineWaiters, Proposals, type Applied } from './waiters.ts'
import { LogWriter } from './writer.ts'

type Give = (core: RaftCore, now: number) => void

export class RaftNode implements Raft {
  readonly #options: RaftNodeOptions
  readonly #writer: LogWriter
  readonly #applier: Applier
  readonly #snapshots: Snapshots
  readonly #proposals: Proposals
  readonly #reads: ReadQuestions
  readonly #suspension: Suspension
  readonly #applied: DeadlineWaiters<{ readonly index: LogIndex }, void>
  readonly #changes: DeadlineWaiters<{ readonly until: () => boolean }, void>
  readonly #listeners = new Set<(status: RaftStatus) => void>()
  #core: RaftCore | null = null
  /** Until it has a state again. */
  #lost: LostState | null = null
  #timer: Timer | null = null
  #timerAt = Infinity
  #turnScheduled = false
  #stopped = false
  #announced = ''
  #ledTerm = 0
  /** When it led last, monotonic: until then it was the contact itself. */
  #ledUntilMs = -Infinity
  #peersOf: Configuration | null = null
  #introduced: readonly Peer[] = []

  constructor(options: RaftNodeOptions) {
    this.#options = options
    const { clock } = options
    this.#proposals = new Proposals(clock)
    this.#suspension = new Suspension({
      clock,
      bootMs: options.bootMs ?? (() => clock.monotonicMs()),
      logger: options.logger,
    })
    this.#reads = new ReadQuestions({
      clock,
      random: options.random,
      input: (give) => this.#input(give),
      readNow: (...read) => this.#suspension.readNow(this.#serving(), ...read),
      defer: options.defer,
    })
    this.#applied = new DeadlineWaiters(clock)
    this.#changes = new DeadlineWaiters(clock)
    this.#writer = new LogWriter(options.log, {
      send: (message) => options.transport.send(message),
      persisted: (sequence) => this.#input((core, now) => core.persisted(sequence, now), 'now'),
      failed: (error) => this.#fail(error),
    })
    this.#applier = new Applier(options, {
      core: () => this.#running(),
      applied: (entries, outcomes) => {
        this.#input((core, now) => core.applied(entries, now))
        for (const [i, entry] of entries.entries()) {
          this.#proposals.applied(entry.index, entry.term, outcomes[i])
        }
        this.#advanced('by entries')
        this.#snapshots.maybeCompact()
      },
      failed: (error) => this.#fail(error),
    })
    this.#snapshots = new Snapshots(options, this.#writer, this.#applier, {
      core: () => this.#running(),
      input: (give) => this.#input(give),
      installed: () => this.#advanced('by snapshot'),
      failed: (error) => this.#fail(error),
    })
  }

  async start(): Promise<void> {
    const options = this.#options
    const lost = isStateLost(options) ? new LostState(options) : null
    this.#lost = lost
    if (lost !== null) {
      await this.#listen()
      await lost.recover()
      this.#lost = null
    }
    const start = await startOf(options)
    const core = new RaftCore(
      options.id,
      {
        ...options.limits,
        ...options.timing,
        leaseReads: options.leaseReads,
        random: options.random,
      },
      start,
      options.clock.monotonicMs(),
    )
    this.#core = core
    if (options.gate.refusing) core.diskRefuses(true, options.clock.monotonicMs())
    options.gate.onChange(() => this.#diskChanged(options.gate.refusing))
    this.#syncPeers(core)
    if (lost === null) await this.#listen()
    this.#turn()
  }

  /** Without a core, messages are dropped. */
  #listen(): Promise<void> {
    return this.#options.transport.start({
      onMessage: (message) => this.#receive(message),
      onPeerConnected: (id) => this.#input((core, now) => core.peerConnected(id, now)),
      onPeerGone: (id) => this.#input((core, now) => core.peerGone(id, now)),
      onSnapshotOffer: (offer) => (this.#lost ?? this.#snapshots).offered(offer),
      onSnapshotReceived: (offer) => (this.#lost ?? this.#snapshots).received(offer),
    })
  }

  async bootstrap(configuration: Configuration): Promise<void> {
    const core = this.#require()
    if (core.log.lastIndex !== 0 || core.term !== 0) {
      throw new MusterError(
        'conflict',
        'this server holds data already; it is never bootstrapped again',
      )
    }
    this.#input((core, now) => core.bootstrap(configuration, now))
    this.#turn()
    await this.#writer.idle()
  }

  introduce(peers: readonly Peer[]): void {
    this.#introduced = peers
    this.#peersOf = null
    this.#schedule()
  }

  propose(data: Uint8Array, options: ProposeOptions = {}): Promise<Applied> {
    return this.#submit(data, options)
  }

  async changeMembership(change: MembershipChange): Promise<void> {
    await this.#submit(change, {})
  }

  isFresh(mode: ReadMode): boolean {
    return this.#running() !== null && this.#reads.isAt(mode, this.#options.machine.appliedIndex)
  }

  async readBarrier(mode: ReadMode, deadlineMs: number, signal?: Signal): Promise<void> {
    let index = await this.#reads.index(mode, deadlineMs)
    index ??= await this.#reads.later(mode, deadlineMs)
    assertWanted(signal)
    if (this.#options.machine.appliedIndex >= index) return
    if (this.#options.gate.refusing) throw behindError()
    await this.#applied.wait({ index }, deadlineMs, 'this server is behind its leader')
    assertWanted(signal)
  }

  async transferLeadership(target: ServerId | null, deadlineMs: number): Promise<void> {
    const core = this.#serving()
    const refusal = core.transfer(target, this.#now())
    if (refusal !== null) throw errorOf(refusal)
    // Before the turn that may end it: requests that come now wait for the next leader.
    this.#announce(core)
    this.#schedule()
    const over = () => !core.transferring && core.leaderId !== null
    await this.#changes.wait({ until: over }, deadlineMs, 'the handover took too long')
    if (core.role === 'leader') {
      throw new MusterError(
        'timeout',
        'the chosen server did not take over within an election timeout',
      )
    }
  }

  sendState(to: ServerId, atLeast: LogIndex): void {
    this.#snapshots.sendState(to, atLeast)
  }

  status(): RaftStatus {
    const core = this.#require()
    return {
      id: this.#options.id,
      role: core.role,
      term: core.term,
      leaderId: core.leaderId,
      lastIndex: core.log.lastIndex,
      commitIndex: core.log.commitIndex,
      appliedIndex: this.#options.machine.appliedIndex,
      settled: this.#settled(core),
      transferring: core.transferring,
      electionTimeoutMs: core.patienceMs,
      configuration: core.membership.configuration,
      configurationIndex: core.membership.index,
      followers: core.followers,
    }
  }

  /** Empty until this server knows its cluster. */
  clusterId(): string {
    return this.#core?.membership.configuration.clusterId ?? ''
  }

  predecessors(): readonly string[] {
    return this.#core?.membership.configuration.succession?.predecessors ?? []
  }

  lastContactMs(): number {
    const core = this.#running()
    if (core === null) return 0
    if (core.role === 'leader') return 0
    return Math.max(0, this.#now() - Math.max(core.lastLeaderContact, this.#ledUntilMs))
  }

  onChange(listener: (status: RaftStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async stop(): Promise<void> {
    this.#halt()
    await this.#options.transport.stop()
    await this.#snapshots.stop()
    await this.#writer.idle()
    await this.#applier.idle()
  }

  /** Throws what the core refuses before it changed anything: that ends the stream, not this server. */
  #receive(message: Message): void {
    let refused: MusterError | null = null
    this.#input((core, now) => {
      try {
        const asked = message.type === 'readIndexRequest' && core.trustsLease(message.linearizable)
        if (asked) this.#suspension.beforeQuestion(core, now)
        core.message(message, now)
      } catch (error) {
        if (!(error instanceof MusterError)) throw error
        refused = error
      }
    })
    if (refused !== null) throw refused
  }

  /** One input; the next turn takes all that came meanwhile. After a write of the own disk it comes at once: callers wait on it. */
  #input(give: Give, turn: 'now' | 'soon' = 'soon'): void {
    const core = this.#running()
    if (core === null) return
    try {
      give(core, this.#now())
    } catch (error) {
      this.#fail(error)
      return
    }
    if (turn === 'now') this.#turn()
    else this.#schedule()
  }

  /** The state moved on: callers that waited for it resume. */
  #advanced(how: 'by entries' | 'by snapshot'): void {
    const { appliedIndex } = this.#options.machine
    if (how === 'by snapshot') this.#proposals.skipped(appliedIndex)
    this.#applied.resolveWhere((key) => key.index <= appliedIndex, undefined)
  }

  #schedule(): void {
    if (this.#turnScheduled || this.#stopped) return
    this.#turnScheduled = true
    this.#options.defer(() => {
      this.#turnScheduled = false
      this.#turn()
    })
  }

  #turn(): void {
    const core = this.#running()
    if (core === null) return
    this.#reads.taken()
    try {
      this.#perform(core.takeReady(this.#now()))
      this.#announce(core)
      this.#arm(core)
    } catch (error) {
      this.#fail(error)
    }
  }

  #perform(ready: Ready): void {
    for (const message of ready.send) this.#options.transport.send(message)
    if (ready.persist !== null) this.#writer.push(ready.persist)
    this.#reads.answered(ready.reads, ready.send.length > 0)
    for (const fetch of ready.fetches) this.#fetch(fetch)
    for (const peer of ready.snapshots) this.#snapshots.send(peer)
    for (const lost of ready.forgetful) this.#options.logger.error(forgetfulText, lost)
    if (ready.install !== null) this.#snapshots.install(ready.install)
    this.#applier.kick()
  }

  /** Tells callers and listeners what changed: role, term, leader, members. */
  #announce(core: RaftCore): void {
    this.#syncPeers(core)
    const { role, term, leaderId, transferring, membership } = core
    if (this.#ledTerm !== 0 && (role !== 'leader' || term !== this.#ledTerm)) {
      // With a disk that stands still, what is committed by the others may not be applied here for long.
      const { diskStalls: stalls, applicableIndex, log } = core
      this.#proposals.orphan(stalls ? applicableIndex : log.commitIndex, stalls)
      this.#snapshots.abandon()
      this.#ledUntilMs = this.#now()
    }
    this.#ledTerm = role === 'leader' ? term : 0
    const settled = this.#settled(core)
    const key = `${role} ${term} ${leaderId} ${settled} ${transferring} ${membership.index}`
    if (key === this.#announced) return
    this.#announced = key
    this.#options.logger.debug('raft state changed', { role, term, leader: leaderId, transferring })
    const status = this.status()
    for (const listener of this.#listeners) listener(status)
    this.#changes.resolveWhere((change) => change.until(), undefined)
  }

  #settled({ completeAt }: RaftCore): boolean {
    return completeAt !== null && this.#options.machine.appliedIndex >= completeAt
  }

  #syncPeers(core: RaftCore): void {
    const { configuration } = core.membership
    if (configuration === this.#peersOf) return
    this.#peersOf = configuration
    const { members } = configuration
    const others = this.#introduced.filter(({ id }) => !members.some((member) => member.id === id))
    const peers = [...members, ...others].filter(({ id }) => id !== this.#options.id)
    this.#options.transport.setPeers(peers.map(({ id, name, address }) => ({ id, name, address })))
  }

  #arm(core: RaftCore): void {
    const at = core.nextDeadline
    // A deadline that moved on is noticed when the old timer fires: heartbeats need not re-arm it.
    if (this.#timer !== null && this.#timerAt <= at) return
    this.#timer?.cancel()
    this.#timerAt = at
    this.#timer = this.#options.clock.setTimer(Math.max(1, at - this.#now()), () => {
      this.#timer = null
      this.#suspension.onTimer(core)
      const late = this.#now() - at > core.patienceMs / 2
      if (!late) {
        this.#input((core, now) => core.tick(now, false), 'now')
        return
      }
      // This process was held up: what waits in its sockets is handled before any peer is declared silent.
      this.#options.logger.warn('held up', { forMs: Math.round(this.#now() - at) })
      this.#options.defer(() => this.#input((core, now) => core.tick(now, true), 'now'))
    })
  }

  #fetch({ peer, from, to }: Fetch): void {
    const core = this.#require()
    const { term } = core
    this.#options.log.read(from, to, this.#options.limits.appendBytesMax).then(
      (entries) => this.#input((core, now) => core.fetched(peer, term, entries, now)),
      (error: unknown) => this.#fail(error),
    )
  }

  #submit(what: Uint8Array | MembershipChange, options: ProposeOptions): Promise<Applied> {
    const core = this.#running()
    if (core === null) return Promise.reject(stoppedError())
    const now = this.#now()
    let result
    try {
      result =
        what instanceof Uint8Array
          ? core.propose(what, now, options.term)
          : core.changeMembership(what, now)
    } catch (error) {
      // A broken invariant: nothing this core says can be trusted any more.
      this.#fail(error)
      return Promise.reject(stoppedError())
    }
    if (!result.ok) return Promise.reject(errorOf(result.refusal))
    this.#schedule()
    return this.#proposals.wait(result.index, result.term, options)
  }

  #now(): number {
    return this.#options.clock.monotonicMs()
  }

  #running(): RaftCore | null {
    return this.#stopped ? null : this.#core
  }

  #serving(): RaftCore {
    const core = this.#running()
    if (core === null) throw stoppedError()
    return core
  }

  #require(): RaftCore {
    if (this.#core === null) throw new MusterError('unavailable', 'this server is starting')
    return this.#core
  }

  /** What was proposed here waits for this server's disk; its proposers need not. */
  #diskChanged(refuses: boolean): void {
    this.#input((core, now) => core.diskRefuses(refuses, now), 'now')
    if (refuses) this.#proposals.abandonAll()
  }

  /** Sends nothing any more, and rejects all waiters. */
  #halt(): void {
    this.#stopped = true
    this.#options.gate.close()
    this.#timer?.cancel()
    this.#timer = null
    this.#listeners.clear()
    this.#proposals.abandonAll()
    const waiting = [this.#reads, this.#applied, this.#changes]
    for (const waiters of waiting) waiters.rejectAll(stoppedError())
  }

  /** The disk, the state or this program is broken: the owner ends the process. */
  #fail(error: unknown): void {
    if (this.#stopped) return
    this.#halt()
    this.#options.logger.error('consensus stopped', { reason: textOf(error) })
    this.#options.onFatal(error)
  }
}
