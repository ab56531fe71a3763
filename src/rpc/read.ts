/**
 * The one read path: make the state fresh enough, run the query over a view that remembers what it read, and for a
 * blocking query wait until exactly that changes, then run again. Blocking queries that are equal are run once for all.
 *
 * An index told to a client is never 0 and never below the floor that a restore sets.
 */
import type { Clock } from '../lib/clock.ts'
import { codeOf } from '../lib/errors.ts'
import { maySeeSome, type Authorizer, type Permissions } from './authorizer.ts'
import type { Consensus } from './consensus.ts'
import { noLeader } from './forward.ts'
import type {
  AnyQuery,
  Caller,
  Consistency,
  QueryContext,
  QueryResult,
  ReadOptions,
  Requirement,
} from './method.ts'
import { Parking, type WaitEnd } from './parking.ts'
import { Places, placeTaker } from './places.ts'
import { lacksAll, mustMay } from './refusal.ts'
import {
  isAsyncIterable,
  SharedReads,
  type SharedCall,
  type SharedResult,
  type Used,
} from './shared-reads.ts'
import type { ReadableState, RecordingView } from './state.ts'
import type { WakeRoom } from './wake-queue.ts'

export type QueryAnswer = QueryResult<unknown> & {
  /** Gives the view back under a value that is read as it streams. Whoever asked calls it at the end; harmless twice. */
  readonly close: () => void
  /** Set when others are given the very same value: what is made of it once is kept there for all. */
  readonly shared: SharedResult | null
}

export type QueryReaderOptions = {
  readonly consensus: Consensus
  readonly state: ReadableState
  readonly authorizer: Authorizer
  readonly clock: Clock
  readonly noLeaderMs: number
  /** Blocking queries that may wait at the same time; how callers share them: `Places`. */
  readonly parkedMax: number
  /** Null: there is always room to wake. */
  readonly room: WakeRoom | null
}

export type QueryCall = {
  readonly method: AnyQuery
  /** Checked against the method's schema already. */
  readonly args: unknown
  readonly caller: Caller
  readonly options: ReadOptions
  /** For the barrier, monotonic ms; waiting for a change is bounded by `options.waitMs` alone. */
  readonly deadlineMs: number
  readonly signal: AbortSignal
  /** What else the form of its answer follows from. Null: it shares its answer with nobody. */
  readonly shape: string | null
}

/** What a blocking query found: an answer, or on what to wait for one. */
type Found =
  | { readonly answer: QueryAnswer }
  | { readonly touched: object; readonly query: { waiting: number } | null }

export class QueryReader {
  readonly #options: QueryReaderOptions
  readonly #parking: Parking
  readonly #shared: SharedReads
  readonly #places: Places
  /** Once true, this server's copy has been as new as the cluster at some time since it started. */
  #caughtUp = false
  #draining = false

  constructor(options: QueryReaderOptions) {
    this.#options = options
    this.#parking = new Parking(options)
    this.#shared = new SharedReads(options)
    this.#places = new Places({ max: options.parkedMax, limit: 'limits.blocking_queries_max' })
  }

  get parkedCount(): number {
    return this.#parking.count
  }

  /** Blocking queries that found no place to wait. */
  get refusedCount(): number {
    return this.#places.refusedCount
  }

  async run(call: QueryCall): Promise<QueryAnswer> {
    // Most reads find all they need at once, and then each promise that is not made is worth something.
    const freshening = this.#freshen(call.options.consistency, call)
    if (freshening !== null) await freshening
    if (call.options.minIndex !== 0) return this.#runBlocking(call)
    const resolved = this.#permissionsOf(call)
    const permissions = resolved instanceof Promise ? await resolved : resolved
    const { shape } = call
    const shared = shape === null ? null : await this.#runShared({ ...call, shape }, permissions)
    return shared ?? released(await runOver(this.#options.state.view(false), call, permissions))
  }

  /** Of the very state that it is asked of. Null for the first who asks: it may well be the only one. */
  async #runShared(call: SharedCall, permissions: Permissions): Promise<QueryAnswer | null> {
    const query = this.#shared.find(call, permissions)
    if (query === null || query.asked === 1) return null
    const needed = { index: this.#options.state.appliedIndex, exact: true }
    const used = await this.#shared.use(query, call, permissions, needed)
    return used === null ? null : answerOf(used)
  }

  async #runBlocking(call: QueryCall): Promise<QueryAnswer> {
    const { state, clock } = this.#options
    const untilMs = clock.monotonicMs() + call.options.waitMs
    let last: WaitEnd | null = null
    /** Held through all waits of this query: a wake may not cost it its place. */
    let leave: (() => void) | null = null
    try {
      for (;;) {
        // Before the caller's rights are looked up: what changes them from here on wakes it.
        const sinceIndex = state.appliedIndex
        const permissions = await this.#permissionsOf(call)
        const { least = [] } = call.method
        if (!maySeeSome(permissions, least)) throw lacksAll(permissions, [least])
        const found = await this.#find(call, permissions, last)
        if ('answer' in found) return found.answer
        leave ??= this.#places.take(placeTaker(call.caller, permissions))
        const { touched, query } = found
        if (query !== null) query.waiting += 1
        try {
          const { signal } = call
          const wait = { touched, query: query ?? touched, sinceIndex, untilMs, signal }
          last = await this.#parking.wait(wait)
        } finally {
          if (query !== null) query.waiting -= 1
        }
      }
    } finally {
      leave?.()
    }
  }

  #permissionsOf({ caller, method, args }: QueryCall): Permissions | Promise<Permissions> {
    const permitted = (permissions: Permissions): Permissions => {
      mustMay(permissions, method.requires(args as never), method.missing)
      return permissions
    }
    const permissions = this.#options.authorizer.resolve(caller)
    return permissions instanceof Promise ? permissions.then(permitted) : permitted(permissions)
  }

  /** `last`: how the wait before this ended; null: there was none yet. */
  async #find(call: QueryCall, permissions: Permissions, last: WaitEnd | null): Promise<Found> {
    const timeIsUp = this.#draining || (last !== null && !last.changed)
    const { shape } = call
    const sharedCall: SharedCall | null = shape === null ? null : { ...call, shape }
    const query = sharedCall === null ? null : this.#shared.find(sharedCall, permissions)
    if (query === null || sharedCall === null) return this.#findAlone(call, permissions, timeIsUp)
    const { state } = this.#options
    const { minIndex } = call.options
    const isAnswer = (index: number): boolean =>
      timeIsUp ||
      // A table's index moves with any of its rows: a reader of rows that stand still goes on waiting.
      (index > minIndex &&
        query.touched !== null &&
        state.changedSince(minIndex, query.touched) !== false)
    if (isAnswer(query.index) || !this.#shared.stands(query)) {
      // What was told last may be of a change that others were woken by later: any state since is new to this one.
      const index = last?.changed === true ? last.index : state.appliedIndex
      const needed = { index, exact: timeIsUp }
      const used = await this.#shared.use(query, sharedCall, permissions, needed)
      if (used === null) return this.#findAlone(call, permissions, timeIsUp)
      if (isAnswer(used.result.index)) return { answer: answerOf(used) }
      used.release()
    }
    return { touched: this.#shared.touchedFor(query, call.caller), query }
  }

  async #findAlone(call: QueryCall, permissions: Permissions, timeIsUp: boolean): Promise<Found> {
    const { state, authorizer } = this.#options
    const { minIndex } = call.options
    const view = state.view(true)
    const answer = await runOver(view, call, permissions)
    const touched = view.touched()
    const isNew = answer.index > minIndex && state.changedSince(minIndex, touched) !== false
    if (timeIsUp || isNew) return { answer: released(answer) }
    authorizer.touch?.(view, call.caller)
    answer.close()
    return { touched, query: null }
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
    this.#draining = true
    this.#shared.stop()
    this.#parking.drain()
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

/** The view stays open behind the answer. */
async function runOver(
  view: RecordingView,
  call: QueryCall,
  permissions: Permissions,
): Promise<QueryAnswer> {
  const context: QueryContext = {
    caller: call.caller,
    accessor: permissions.accessor ?? null,
    signal: call.signal,
    may: (requirement: Requirement) => permissions.may(requirement),
    missing: permissions.missing,
  }
  try {
    const result = await call.method.query(view, call.args as never, context)
    return {
      value: result.value,
      index: Math.max(result.index, view.floorIndex, 1),
      close: () => view.close(),
      shared: null,
    }
  } catch (error) {
    view.close()
    throw error
  }
}

function answerOf({ result, release }: Used): QueryAnswer {
  return { value: result.value, index: result.index, close: release, shared: result }
}

/** For the one who asked. Only a value that streams reads on. */
function released(answer: QueryAnswer): QueryAnswer {
  if (!isAsyncIterable(answer.value)) answer.close()
  return answer
}
