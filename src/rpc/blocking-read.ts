/**
 * One blocking query from its first look until it has an answer. While it waits, this record is all that is left of it: no
 * function that is halfway through, for ten thousand may wait for one list.
 */
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Authorizer, Permissions } from './authorizer.ts'
import type { Parking, WaitEnd, Waiter, WaitGroup } from './parking.ts'
import { type Places, placeTaker } from './places.ts'
import {
  answerOf,
  mustRead,
  mustSeeSome,
  released,
  runOver,
  type QueryAnswer,
  type QueryCall,
} from './query.ts'
import type { Needed, SharedQuery, SharedReads, Used } from './shared-reads.ts'
import type { Services } from './services.ts'
import type { ReadableState } from './state.ts'

/** What all blocking queries of a server share. */
export type BlockingReads = {
  readonly state: ReadableState
  readonly clock: Clock
  readonly authorizer: Authorizer
  readonly services: Services
  readonly parking: Parking
  readonly shared: SharedReads
  readonly places: Places
  /** No query waits any more. */
  readonly draining: boolean
}

export class BlockingRead implements Waiter {
  untilMs = 0
  /** Of the whole query; `untilMs` is that of one wait. */
  #lastMs = 0
  group: WaitGroup | null = null
  /** How its last wait ended; null: there was none yet. */
  end: WaitEnd | null = null
  readonly #reads: BlockingReads
  readonly #call: QueryCall
  readonly #resolve: (answer: QueryAnswer) => void
  readonly #reject: (error: unknown) => void
  /** Held through all waits of this query: a wake may not cost it its place. */
  #leave: (() => void) | null = null
  /** Counted as one that waits for it. */
  #query: SharedQuery | null = null
  #waits = false
  #over = false

  private constructor(
    reads: BlockingReads,
    call: QueryCall,
    resolve: (answer: QueryAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#reads = reads
    this.#call = call
    this.#resolve = resolve
    this.#reject = reject
  }

  /** `fresh`: when the state is fresh enough for it; null: it is. */
  static run(
    reads: BlockingReads,
    call: QueryCall,
    fresh: Promise<void> | null,
  ): Promise<QueryAnswer> {
    return new Promise((resolve, reject) => {
      const read = new BlockingRead(reads, call, resolve, reject)
      if (fresh === null) read.#begin()
      else void fresh.then(() => read.#begin()).catch(read.#failLater)
    })
  }

  /** Its wait is over, and it is its turn. */
  go(): 'gone' | 'went' {
    if (!this.#waits) return 'gone'
    this.#stopWaiting()
    this.#look()
    return 'went'
  }

  /** Its caller has gone. */
  handleEvent(): void {
    if (!this.#waits) return
    this.#stopWaiting()
    this.#fail(cancelled())
  }

  #begin(): void {
    this.#lastMs = this.#reads.clock.monotonicMs() + this.#call.options.waitMs
    this.#look()
  }

  #look(): void {
    try {
      const { state, authorizer } = this.#reads
      // Before the caller's rights are looked up: what changes them from here on wakes it.
      const sinceIndex = state.appliedIndex
      const permissions = authorizer.resolve(this.#call.caller)
      if (permissions instanceof Promise) {
        void permissions.then((known) => this.#find(known, sinceIndex)).catch(this.#failLater)
      } else {
        this.#find(permissions, sinceIndex)
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  #find(permissions: Permissions, sinceIndex: number): void {
    const call = this.#call
    const { services, shared } = this.#reads
    mustRead(call, permissions, services)
    mustSeeSome(call.method, permissions)
    const timeIsUp = this.#isTimeUp()
    const query = shared.find(call, permissions)
    if (query === null) {
      this.#lookAlone(permissions, sinceIndex, timeIsUp)
      return
    }
    // Equal to its own, and there already.
    call.args = query.args
    call.shape = query.shape
    if (!this.#isAnswer(query, query.index, timeIsUp) && shared.stands(query)) {
      this.#wait(query, shared.touchedFor(query, call.caller), permissions, sinceIndex)
      return
    }
    // What was told last may be of a change that others were woken by later: any state since is new to this one.
    const index = this.end?.changed === true ? this.end.index : this.#reads.state.appliedIndex
    const needed: Needed = { index, exact: timeIsUp }
    const used = shared.useNow(query, needed)
    if (used !== null) {
      this.#take(used, query, permissions, sinceIndex, timeIsUp)
      return
    }
    void shared
      .use(query, call, permissions, needed)
      .then((run) => {
        if (run === null) this.#lookAlone(permissions, sinceIndex, timeIsUp)
        else this.#take(run, query, permissions, sinceIndex, timeIsUp)
      })
      .catch(this.#failLater)
  }

  #take(
    used: Used,
    query: SharedQuery,
    permissions: Permissions,
    sinceIndex: number,
    timeIsUp: boolean,
  ): void {
    if (this.#isAnswer(query, used.result.index, timeIsUp)) {
      this.#answer(answerOf(used))
      return
    }
    used.release()
    const touched = this.#reads.shared.touchedFor(query, this.#call.caller)
    this.#wait(query, touched, permissions, sinceIndex)
  }

  #isAnswer({ touched }: SharedQuery, index: number, timeIsUp: boolean): boolean {
    return timeIsUp || (touched !== null && this.#isNew(index, touched))
  }

  /**
   * What a client asks with is older than the answer: it gets that. Once it waits, a table's index moves with any of its rows, and a
   * reader of rows that stand still goes on waiting.
   */
  #isNew(index: number, touched: object): boolean {
    const { method, options } = this.#call
    if (index <= options.minIndex) return false
    const isFirst = this.end === null && method.ownChanges !== true
    return isFirst || this.#reads.state.changedSince(options.minIndex, touched) !== false
  }

  #lookAlone(permissions: Permissions, sinceIndex: number, timeIsUp: boolean): void {
    void this.#findAlone(permissions, sinceIndex, timeIsUp).catch(this.#failLater)
  }

  async #findAlone(permissions: Permissions, sinceIndex: number, timeIsUp: boolean): Promise<void> {
    const call = this.#call
    const { state, authorizer, services } = this.#reads
    const view = state.view(true)
    const answer = await runOver(view, call, permissions, services)
    const touched = view.touched()
    if (timeIsUp || this.#isNew(answer.index, touched)) {
      this.#answer(released(answer))
      return
    }
    authorizer.touch?.(view, call.caller)
    answer.close()
    this.#wait(null, touched, permissions, sinceIndex)
  }

  #wait(
    query: SharedQuery | null,
    touched: object,
    permissions: Permissions,
    sinceIndex: number,
  ): void {
    const { caller, signal } = this.#call
    const { places, parking } = this.#reads
    const first = this.#leave === null
    this.#leave ??= places.take(placeTaker(caller, permissions))
    if (signal.aborted) throw cancelled()
    this.untilMs = this.#waitsUntil(permissions)
    parking.wait(this, { touched, query: query ?? touched, sinceIndex })
    this.#waits = true
    this.#query = query
    if (query !== null) query.waiting += 1
    if (first) signal.addEventListener('abort', this)
  }

  /** A wait that ended with the caller's token, or on a hint of it, is not the end of the query. */
  #isTimeUp(): boolean {
    const { draining, clock } = this.#reads
    if (draining || this.end === null || this.end.changed) return draining
    return this.untilMs >= this.#lastMs || clock.monotonicMs() >= this.#lastMs
  }

  /** No change of the state tells that a token's time is over, least of all of one that is stored nowhere. */
  #waitsUntil({ endMs }: Permissions): number {
    if (endMs === undefined) return this.#lastMs
    const { clock } = this.#reads
    return Math.min(this.#lastMs, clock.monotonicMs() + Math.max(1, endMs - clock.wallMs()))
  }

  #stopWaiting(): void {
    this.#waits = false
    this.#reads.parking.leave(this)
    if (this.#query !== null) this.#query.waiting -= 1
    this.#query = null
  }

  #answer(answer: QueryAnswer): void {
    this.#end()
    this.#call.ended(null)
    this.#resolve(answer)
  }

  #fail(error: unknown): void {
    if (this.#over) return
    this.#end()
    this.#call.ended(error)
    this.#reject(error)
  }

  // Made when it is needed: most never are.
  get #failLater(): (error: unknown) => void {
    return (error) => this.#fail(error)
  }

  #end(): void {
    this.#over = true
    if (this.#leave === null) return
    this.#leave()
    this.#call.signal.removeEventListener('abort', this)
  }
}

function cancelled(): MusterError {
  return new MusterError('cancelled', 'the caller went away')
}
