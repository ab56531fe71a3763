/**
 * The one read path: make the state fresh enough, run the query over a view that remembers what it read, and for a
 * blocking query wait until exactly that changes, then run again. Blocking queries that are equal are run once for all.
 *
 * An index told to a client is never 0 and never below the floor that a restore sets.
 */
import type { Clock } from '../lib/clock.ts'
import { codeOf } from '../lib/errors.ts'
import type { Authorizer, Permissions } from './authorizer.ts'
import { BlockingRead, type BlockingReads } from './blocking-read.ts'
import type { Consensus } from './consensus.ts'
import { noLeader } from './forward.ts'
import type { Consistency } from './method.ts'
import { Parking } from './parking.ts'
import { Places } from './places.ts'
import { answerOf, mustRead, released, runOver, type QueryAnswer, type QueryCall } from './query.ts'
import { SharedReads } from './shared-reads.ts'
import type { Services } from './services.ts'
import type { ReadableState } from './state.ts'
import type { WakeRoom } from './wake-queue.ts'

export type QueryReaderOptions = {
  readonly consensus: Consensus
  readonly state: ReadableState
  readonly authorizer: Authorizer
  readonly services: Services
  readonly clock: Clock
  readonly noLeaderMs: number
  /** Blocking queries that may wait at the same time; how callers share them: `Places`. */
  readonly parkedMax: number
  /** Null: there is always room to wake. */
  readonly room: WakeRoom | null
  /** As `ParkingOptions.crowded`. */
  readonly crowded: (crowded: boolean) => void
}

export class QueryReader {
  readonly #options: QueryReaderOptions
  readonly #blocking: BlockingReads & { draining: boolean }
  /** Once true, this server's copy has been as new as the cluster at some time since it started. */
  #caughtUp = false

  constructor(options: QueryReaderOptions) {
    this.#options = options
    const { state, clock, authorizer, services, parkedMax } = options
    this.#blocking = {
      state,
      clock,
      authorizer,
      services,
      parking: new Parking(options),
      shared: new SharedReads(options),
      places: new Places({ max: parkedMax, limit: 'limits.blocking_queries_max' }),
      draining: false,
    }
  }

  get parkedCount(): number {
    return this.#blocking.parking.count
  }

  /** Blocking queries that found no place to wait. */
  get refusedCount(): number {
    return this.#blocking.places.refusedCount
  }

  run(call: QueryCall): Promise<QueryAnswer> {
    if (call.options.minIndex === 0) return this.#runOnce(call)
    const fresh = this.#freshen(call.options.consistency, call)
    return BlockingRead.run(this.#blocking, call, fresh)
  }

  async #runOnce(call: QueryCall): Promise<QueryAnswer> {
    try {
      // Most reads find all they need at once, and then each promise that is not made is worth something.
      const freshening = this.#freshen(call.options.consistency, call)
      if (freshening !== null) await freshening
      const resolved = this.#options.authorizer.resolve(call.caller)
      const permissions = resolved instanceof Promise ? await resolved : resolved
      mustRead(call, permissions, this.#options.services)
      const shared = call.shape === null ? null : await this.#runShared(call, permissions)
      const answer = shared ?? this.#runAlone(call, permissions)
      const known = answer instanceof Promise ? await answer : answer
      call.ended(null)
      return shared === null ? released(known) : known
    } catch (error) {
      call.ended(error)
      throw error
    }
  }

  #runAlone(call: QueryCall, permissions: Permissions): QueryAnswer | Promise<QueryAnswer> {
    const { state, services } = this.#options
    return runOver(state.view(false), call, permissions, services)
  }

  /** Of the very state that it is asked of. Null for the first who asks: it may well be the only one. */
  async #runShared(call: QueryCall, permissions: Permissions): Promise<QueryAnswer | null> {
    const { shared, state } = this.#blocking
    const query = shared.find(call, permissions)
    if (query === null || query.asked === 1) return null
    const needed = { index: state.appliedIndex, exact: true }
    const used = await shared.use(query, call, permissions, needed)
    return used === null ? null : answerOf(used)
  }

  /** Waits, as a server that starts, until its copy is as new as the cluster; then stale reads are answered at once. */
  async catchUp(signal: AbortSignal): Promise<void> {
    const { consensus, clock, noLeaderMs } = this.#options
    while (!this.#caughtUp && !signal.aborted) {
      try {
        const deadlineMs = clock.monotonicMs() + noLeaderMs
        await consensus.waitForLeader(deadlineMs, signal)
        await consensus.readBarrier('leader', deadlineMs, signal)
        this.#caughtUp = true
      } catch (error) {
        const code = codeOf(error)
        if (code !== 'no_leader' && code !== 'timeout' && code !== 'not_leader') return
      }
    }
  }

  /** Ends all waits with the result as it is, and lets none begin. */
  drain(): void {
    this.#blocking.draining = true
    this.#blocking.shared.stop()
    this.#blocking.parking.drain()
  }

  /** Null: it is fresh enough. */
  #freshen(consistency: Consistency, call: QueryCall): Promise<void> | null {
    if (consistency === 'stale') return this.#caughtUp ? null : this.#freshenOnce(call)
    const mode = consistency === 'consistent' ? 'linearizable' : 'leader'
    if (!this.#options.consensus.isFresh(mode)) return this.#barrier(mode, call)
    this.#caughtUp = true
    return null
  }

  /** A server that just started may hold nothing yet, and `stale` means old, not empty. */
  async #freshenOnce(call: QueryCall): Promise<void> {
    try {
      await this.#barrier('leader', call)
    } catch (error) {
      if (codeOf(error) !== 'no_leader' || this.#options.state.appliedIndex === 0) throw error
      // There is something to show, and no leader to say how old it is: later readers need not wait for that too.
      this.#caughtUp = true
    }
  }

  async #barrier(mode: 'linearizable' | 'leader', call: QueryCall): Promise<void> {
    const { consensus, clock, noLeaderMs } = this.#options
    const deadlineMs = Math.min(call.deadlineMs, clock.monotonicMs() + noLeaderMs)
    try {
      await consensus.readBarrier(mode, deadlineMs, call.signal)
    } catch (error) {
      const code = codeOf(error)
      // A leader that cannot be heard within this time is as good as none.
      const withoutLeader = code === 'no_leader' || code === 'not_leader' || code === 'timeout'
      throw withoutLeader ? noLeader(noLeaderMs, error) : error
    }
    this.#caughtUp = true
  }
}
