/**
 * Snapshots as the driver handles them: sent to followers that fell behind the log, received and put in place,
 * and the compaction of the log that makes them necessary.
 *
 * The state machine is durable on its own, so a snapshot is a picture of it taken when a follower or an operator needs one;
 * compaction only needs the state to be on disk up to where the log is cut.
 */
import { MusterError, textOf } from '../lib/errors.ts'
import type { RaftCore } from './core/core.ts'
import type { LogIndex, ServerId, SnapshotMeta, Term } from './core/message.ts'
import { leapsAhead } from './core/refusal.ts'
import type { Applier } from './applier.ts'
import type { RaftNodeOptions } from './raft.ts'
import type { SnapshotSink, SnapshotSource } from './transport/transport.ts'
import type { LogWriter } from './writer.ts'

/** While a live follower still needs old entries the log is not cut, until it is this many times its usual length. */
const patience = 16

export type SnapshotHandlers = {
  readonly core: () => RaftCore | null
  readonly input: (give: (core: RaftCore, now: number) => void) => void
  /** The state jumped ahead: readers that wait for it may go on. */
  readonly installed: () => void
  readonly failed: (error: unknown) => void
}

type Offer = {
  readonly from: ServerId
  readonly term: Term
  readonly id: string
  readonly meta: SnapshotMeta
}

export class Snapshots {
  readonly #options: RaftNodeOptions
  readonly #writer: LogWriter
  readonly #applier: Applier
  readonly #handlers: SnapshotHandlers
  readonly #sending = new Map<ServerId, AbortController>()
  readonly #work = new Set<Promise<void>>()
  #compacting = false
  #compactedBytes: number

  constructor(
    options: RaftNodeOptions,
    writer: LogWriter,
    applier: Applier,
    handlers: SnapshotHandlers,
  ) {
    this.#options = options
    this.#writer = writer
    this.#applier = applier
    this.#handlers = handlers
    this.#compactedBytes = options.log.stats().bytes
  }

  // --- sending ---

  send(peer: ServerId): void {
    const core = this.#handlers.core()
    if (core === null || this.#sending.has(peer)) return
    const abort = new AbortController()
    this.#sending.set(peer, abort)
    this.#track(this.#stream(peer, core.term, abort.signal))
  }

  /** To a member that lost its state. Throws `unavailable` where this server's is older than `atLeast`. */
  sendState(peer: ServerId, atLeast: LogIndex): void {
    const core = this.#handlers.core()
    const { appliedIndex } = this.#options.machine
    if (core === null || appliedIndex < atLeast) {
      const text = `the state of this server is at index ${appliedIndex}, not ${atLeast} yet`
      throw new MusterError('unavailable', text)
    }
    if (!core.membership.isMember(peer)) {
      throw new MusterError('conflict', `server ${peer} is not a member of this cluster`)
    }
    this.send(peer)
  }

  async #stream(peer: ServerId, term: Term, signal: AbortSignal): Promise<void> {
    const { transport, logger } = this.#options
    let source: SnapshotSource | null = null
    let ok = false
    try {
      source = await this.#picture()
      logger.info('sending a snapshot', { to: peer, index: source.meta.index })
      await transport.sendSnapshot(peer, term, source, signal)
      ok = true
    } catch (error) {
      logger.warn('a snapshot was not delivered', { to: peer, reason: textOf(error) })
    } finally {
      await source?.close()
      this.#sending.delete(peer)
    }
    const index = source?.meta.index ?? 0
    this.#handlers.input((core, now) => core.snapshotSent(peer, index, ok, now))
  }

  async #picture(): Promise<SnapshotSource> {
    const { machine } = this.#options
    const source = await machine.snapshot()
    const meta = this.#handlers.core()?.membership.inForceAt(source.meta) ?? source.meta
    return {
      meta,
      id: source.id,
      chunks: (from) => source.chunks(from),
      close: () => source.close(),
    }
  }

  /** Leadership ended: what was being sent is of no use any more. */
  abandon(): void {
    for (const abort of this.#sending.values()) abort.abort()
  }

  // --- receiving ---

  async offered(offer: Offer): Promise<SnapshotSink> {
    const core = this.#handlers.core()
    if (core === null || offer.term < core.term) {
      throw new MusterError('conflict', 'the snapshot is of a leader of an earlier term')
    }
    if (leapsAhead(offer.term, core.term)) {
      throw new MusterError('corrupt', `its term ${offer.term} is impossibly far ahead`)
    }
    if (offer.meta.index <= core.log.commitIndex) {
      throw new MusterError('conflict', `this server is at ${core.log.commitIndex} already`)
    }
    if (this.#options.gate.refusing) {
      throw new MusterError('unavailable', 'the disk of this server takes no writes now')
    }
    if (core.installing) {
      // Staging another now would take the first one from under the installation.
      throw new MusterError('conflict', 'this server is putting a snapshot in place')
    }
    return this.#options.machine.stage(offer.id, offer.meta)
  }

  received({ from, term, meta }: Omit<Offer, 'id'>): void {
    this.#handlers.input((core, now) => core.snapshotReceived(from, term, meta, now))
  }

  /**
   * State first, then log: a crash in between leaves a state ahead of its log that knows it was installed
   * (`startup.ts` ends the work). The other way round the log would promise a state that is not there.
   */
  install(meta: SnapshotMeta): void {
    this.#track(
      this.#applier
        .exclusively(() =>
          this.#writer.exclusively(async () => {
            await this.#options.machine.install(meta)
            const core = this.#handlers.core()
            if (core === null) return
            const { hardState } = core
            this.#writer.dropEntries()
            await this.#options.log.reset(meta, { ...hardState, commitIndex: meta.index })
            this.#handlers.input((core, now) => core.snapshotInstalled(meta, now))
            this.#handlers.installed()
            this.#compactedBytes = this.#options.log.stats().bytes
            this.#options.logger.info('a snapshot was put in place', { index: meta.index })
          }),
        )
        .catch((error: unknown) => this.#handlers.failed(error)),
    )
  }

  // --- compaction ---

  /** Cuts the log if it has grown enough. Called after entries were applied. */
  maybeCompact(): void {
    const { log, limits } = this.#options
    const grown = log.stats().bytes - this.#compactedBytes
    if (this.#compacting || grown < limits.compactBytes) return
    if (grown < limits.compactBytes * patience && this.#neededByFollower()) return
    this.#compacting = true
    this.#track(
      this.#compact().then(
        () => {
          this.#compacting = false
        },
        (error: unknown) => this.#handlers.failed(error),
      ),
    )
  }

  #neededByFollower(): boolean {
    const core = this.#handlers.core()
    if (core === null) return false
    const { clock, machine, timing } = this.#options
    const now = clock.monotonicMs()
    const behind = (match: number) => machine.appliedIndex - match > 10_000
    return [...core.followers.values()].some(
      ({ match, state, lastContact }) =>
        now - lastContact < timing.electionMs && (state === 'snapshot' || behind(match)),
    )
  }

  async #compact(): Promise<void> {
    const { log, machine } = this.#options
    const meta = await machine.flush()
    await this.#writer.exclusively(async () => {
      const core = this.#handlers.core()
      // A snapshot may have taken the place of the whole log meanwhile.
      if (core === null || core.log.baseIndex >= meta.index) return
      const base = await log.compact(core.membership.inForceAt(meta))
      this.#compactedBytes = log.stats().bytes
      this.#handlers.input((core, now) => core.compacted(base.baseIndex, base.baseTerm, now))
    })
  }

  #track(work: Promise<void>): void {
    this.#work.add(work)
    void work.finally(() => this.#work.delete(work))
  }

  async stop(): Promise<void> {
    this.abandon()
    await Promise.allSettled(this.#work)
  }
}
