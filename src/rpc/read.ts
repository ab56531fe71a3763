/**
 * The one read path: make the state fresh enough, run the query over a view that remembers what it read, and for a
 * blocking query park on exactly that until it changes, then run again.
 *
 * An index told to a client is never 0 and never below the floor that a restore sets.
 */
import { ChurnMap } from '../lib/churn-map.ts'
import type { Clock } from '../lib/clock.ts'
import { codeOf, MusterError } from '../lib/errors.ts'
import type { Authorizer } from './authorizer.ts'
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
import type { ReadableState, RecordingView } from './state.ts'

export type QueryAnswer = QueryResult<unknown> & {
  /** Gives the view back under a value that is read as it streams. Whoever asked calls it at the end; harmless twice. */
  readonly close: () => void
}

export type QueryReaderOptions = {
  readonly consensus: Consensus
  readonly state: ReadableState
  readonly authorizer: Authorizer
  readonly clock: Clock
  readonly noLeaderMs: number
  /** Blocking queries that may wait at the same time; beyond it they are refused with `overloaded`. */
  readonly parkedMax: number
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
}

export class QueryReader {
  readonly #options: QueryReaderOptions
  /** Ends the wait of each parked query. */
  readonly #parked = new ChurnMap<number, () => void>()
  #parkings = 0
  /** Once true, this server's copy has been as new as the cluster at some time since it started. */
  #caughtUp = false
  #draining = false

  constructor(options: QueryReaderOptions) {
    this.#options = options
  }

  get parkedCount(): number {
    return this.#parked.size
  }

  async run(call: QueryCall): Promise<QueryAnswer> {
    const { state, clock, authorizer } = this.#options
    const { minIndex, consistency } = call.options
    await this.#freshen(consistency, call)
    const waitUntilMs = minIndex > 0 ? clock.monotonicMs() + call.options.waitMs : 0
    for (let timeIsUp = minIndex === 0; ;) {
      // Before the caller's rights are looked up: what changes them from here on wakes it.
      const sinceIndex = state.appliedIndex
      const permissions = await authorizer.resolve(call.caller)
      assertMay(permissions.may(call.method.requires(call.args as never)))
      const context: QueryContext = {
        caller: call.caller,
        accessor: permissions.accessor ?? null,
        signal: call.signal,
        may: (requirement: Requirement) => permissions.may(requirement),
      }
      const view = state.view(minIndex > 0)
      const answer = await runOver(view, call, context)
      if (timeIsUp || this.#draining) return released(answer)
      const touched = view.touched()
      // A table's index moves with any of its rows: a reader of rows that stand still goes on waiting.
      if (answer.index > minIndex && state.changedSince(minIndex, touched) !== false) {
        return released(answer)
      }
      authorizer.touch?.(view, call.caller)
      answer.close()
      timeIsUp = !(await this.#park(touched, sinceIndex, waitUntilMs, call.signal))
    }
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
    for (const [, end] of this.#parked.entries()) end()
  }

  async #freshen(consistency: Consistency, call: QueryCall): Promise<void> {
    if (consistency === 'consistent') return this.#barrier('linearizable', call)
    if (consistency === 'default') return this.#barrier('leader', call)
    if (this.#caughtUp) return undefined
    // A server that just started may hold nothing yet, and `stale` means old, not empty.
    try {
      await this.#barrier('leader', call)
    } catch (error) {
      if (codeOf(error) !== 'no_leader' || this.#options.state.appliedIndex === 0) throw error
      // There is something to show, and no leader to say how old it is: later readers need not wait for that too.
      this.#caughtUp = true
    }
    return undefined
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

  /** True: something touched changed. False: the time is up. Rejects with `cancelled` or `overloaded`. */
  #park(
    touched: object,
    sinceIndex: number,
    waitUntilMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { state, clock, parkedMax } = this.#options
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(cancelled())
        return
      }
      if (this.#parked.size >= parkedMax) {
        reject(
          new MusterError(
            'overloaded',
            `${parkedMax} blocking queries wait here already; try another server or later`,
          ),
        )
        return
      }
      this.#parkings += 1
      const place = this.#parkings
      const leave = () => {
        unpark()
        timer.cancel()
        signal.removeEventListener('abort', abort)
        this.#parked.take(place)
      }
      const wake = () => {
        leave()
        resolve(true)
      }
      const end = () => {
        leave()
        resolve(false)
      }
      const abort = () => {
        leave()
        reject(cancelled())
      }
      // May refuse, so it comes before what would have to be undone.
      const unpark = state.park(touched, sinceIndex, wake)
      const timer = clock.setTimer(Math.max(0, waitUntilMs - clock.monotonicMs()), end)
      signal.addEventListener('abort', abort, { once: true })
      this.#parked.set(place, end)
    })
  }
}

/** The view stays open behind the answer. */
async function runOver(
  view: RecordingView,
  call: QueryCall,
  context: QueryContext,
): Promise<QueryAnswer> {
  try {
    const result = await call.method.query(view, call.args as never, context)
    return {
      value: result.value,
      index: Math.max(result.index, view.floorIndex, 1),
      close: () => view.close(),
    }
  } catch (error) {
    view.close()
    throw error
  }
}

/** For the one who asked. Only a value that streams reads on. */
function released(answer: QueryAnswer): QueryAnswer {
  if (!isAsyncIterable(answer.value)) answer.close()
  return answer
}

function isAsyncIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

function cancelled(): MusterError {
  return new MusterError('cancelled', 'the caller went away')
}

export function assertMay(may: boolean): void {
  if (!may) throw new MusterError('permission_denied', 'Permission denied')
}
