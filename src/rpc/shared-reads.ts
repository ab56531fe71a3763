/**
 * Blocking queries that are equal are run once. Equal are those of one method, with the same arguments, for the same form of
 * answer, by callers whose rights are the same object: so no one is ever given what was read with another's rights. A result
 * stands until something that it was read from changes; its value is kept while it is being answered with, and a moment
 * longer, what it is waited on for as long as anyone waits.
 */
import { assert } from '../lib/assert.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { Authorizer, Permissions } from './authorizer.ts'
import type { AnyQuery, Caller, QueryContext, QueryResult, Requirement } from './method.ts'
import type { Services } from './services.ts'
import type { ReadableState, RecordingView, Touched } from './state.ts'

/** Queries that differ and are shared at a time; one more is run for its caller alone. */
export const sharedQueriesMax = 16_384
/** An answer that nobody takes is kept this long for those who come. */
export const lingerMs = 500
/** Answers that nobody takes; beyond it the oldest go at once. */
export const lingeringMax = 32
/** While rows change faster than this, those who were woken before are told a result that is so old. */
const rerunMs = 20
/** Tokens that wait for one result, whose own rows are remembered. */
const tokensMax = 16_384

/** What the API makes of a result, and keeps with it. */
export type Companion = { close(): void }

/** One result for all who asked for it. */
export class SharedResult {
  readonly value: unknown
  readonly index: number
  /** Of the state, before it was read. */
  readonly sinceIndex: number
  readonly ranMs: number
  companion: Companion | null = null
  /** To be made something of once for all; each reads alone from then on. */
  tooLong = false
  idleMs: number
  readonly #view: RecordingView
  #users = 0
  /** Nobody gets it any more: it goes with its last user. */
  #retired = false

  constructor(
    { value, index }: QueryResult<unknown>,
    run: { readonly sinceIndex: number; readonly ranMs: number; readonly view: RecordingView },
  ) {
    this.value = value
    this.index = index
    this.sinceIndex = run.sinceIndex
    this.ranMs = run.ranMs
    this.idleMs = run.ranMs
    this.#view = run.view
  }

  get retired(): boolean {
    return this.#retired
  }

  /** Returns the way to give it back, harmless twice. `onIdle`: nobody has it any more, but it may be given again. */
  use(onIdle: () => void): () => void {
    this.#users += 1
    let over = false
    return () => {
      if (over) return
      over = true
      this.#users -= 1
      if (this.#users > 0) return
      if (this.#retired) this.#close()
      else onIdle()
    }
  }

  retire(): void {
    this.#retired = true
    if (this.#users === 0) this.#close()
  }

  #close(): void {
    this.companion?.close()
    this.companion = null
    this.#view.close()
  }
}

/** One query that blocking reads ask for, or did a moment ago. */
export class SharedQuery {
  /** Of the first who asked: equal to those of all others. */
  readonly args: unknown
  readonly shape: string
  /** Reads that wait for a change of it. */
  waiting = 0
  result: SharedResult | null = null
  running: Promise<void> | null = null
  /** Nothing is shared: the answer depends on who asks, not on rights alone, or it is too long. */
  alone = false
  /** Times it was asked for. */
  asked = 0
  /** Of the last result, also when that is gone. */
  index = 0
  touched: Touched | null = null
  /** Nothing touched has changed up to here. */
  standsUntil = 0
  soughtMs = 0
  /** What each token waits on: the rows of the result and those that its rights follow from. */
  readonly byToken = new Map<string | null, { readonly touched: Touched; standsUntil: number }>()

  constructor(args: unknown, shape: string) {
    this.args = args
    this.shape = shape
  }
}

export type SharedCall = {
  readonly method: AnyQuery
  readonly args: unknown
  readonly caller: Caller
  /** What else the form of the answer follows from. Null: it is not to be shared. */
  readonly shape: string | null
}

export type SharedReadsOptions = {
  readonly state: ReadableState
  readonly clock: Clock
  readonly authorizer: Pick<Authorizer, 'touch'>
  readonly services: Services
}

/** `index`: the result must be of this state or a later one. exact: nothing older, however it stands. */
export type Needed = { readonly index: number; readonly exact: boolean }

export type Used = { readonly result: SharedResult; readonly release: () => void }

const never = new AbortController().signal

export class SharedReads {
  readonly #options: SharedReadsOptions
  readonly #queries = new Map<string, SharedQuery>()
  /** Results that nobody has; the one that was used last comes last. */
  readonly #idle = new Set<SharedResult>()
  /** Numbers of rights, for keys. */
  readonly #rights = new WeakMap<object, number>()
  #rightsCount = 0
  #sweep: Timer | null = null
  #stopped = false

  constructor(options: SharedReadsOptions) {
    this.#options = options
  }

  /** Null: it is not to be shared. */
  find(call: SharedCall, { rights }: Permissions): SharedQuery | null {
    const { shape } = call
    if (rights === undefined || shape === null) return null
    const key = this.#keyOf(call, rights)
    let query = this.#queries.get(key)
    if (query === undefined) {
      if (this.#queries.size >= sharedQueriesMax) return null
      query = new SharedQuery(call.args, shape)
      this.#queries.set(key, query)
      this.#armSweep()
    }
    query.soughtMs = this.#options.clock.monotonicMs()
    query.asked += 1
    if (query.result?.tooLong === true) query.alone = true
    return query.alone ? null : query
  }

  /** Whether nothing that the last result was read from has changed since. */
  stands(query: SharedQuery): boolean {
    if (query.touched === null) return false
    const { state } = this.#options
    const { appliedIndex } = state
    if (state.changedSince(query.standsUntil, query.touched) !== false) return false
    query.standsUntil = appliedIndex
    return true
  }

  /** As `use`, where there is a result already; null: there is none. */
  useNow(query: SharedQuery, needed: Needed): Used | null {
    const { result } = query
    if (result === null || !this.#suits(query, result, needed)) return null
    return { result, release: this.#use(result) }
  }

  /** Null: it turned out to be of this caller alone. Otherwise `release` is called once the answer is on its way. */
  async use(
    query: SharedQuery,
    call: SharedCall,
    permissions: Permissions,
    needed: Needed,
  ): Promise<Used | null> {
    for (;;) {
      if (query.alone) return null
      const used = this.useNow(query, needed)
      if (used !== null) return used
      query.running ??= this.#run(query, call, permissions)
      await query.running
    }
  }

  /** What the caller waits on when it waits for another result than the last one. */
  touchedFor(query: SharedQuery, caller: Caller): Touched {
    const { state, authorizer } = this.#options
    const { touched } = query
    assert(touched !== null, 'a result was read from something')
    if (authorizer.touch === undefined) return touched
    const { appliedIndex } = state
    const known = query.byToken.get(caller.token)
    if (known !== undefined && state.changedSince(known.standsUntil, known.touched) === false) {
      known.standsUntil = appliedIndex
      return known.touched
    }
    const view = state.view(true)
    try {
      authorizer.touch(view, caller)
      view.alsoTouched(touched)
      const own = view.touched()
      if (query.byToken.size < tokensMax || known !== undefined) {
        query.byToken.set(caller.token, { touched: own, standsUntil: appliedIndex })
      }
      return own
    } finally {
      view.close()
    }
  }

  /** From now on results go with their last users. */
  stop(): void {
    this.#stopped = true
    this.#sweep?.cancel()
    this.#sweep = null
  }

  #use(result: SharedResult): () => void {
    this.#idle.delete(result)
    return result.use(() => {
      if (this.#stopped) {
        result.retire()
        return
      }
      result.idleMs = this.#options.clock.monotonicMs()
      this.#idle.add(result)
      if (this.#idle.size > lingeringMax) this.#retireOldest()
    })
  }

  #retireOldest(): void {
    const [oldest] = this.#idle
    if (oldest === undefined) return
    this.#idle.delete(oldest)
    oldest.retire()
  }

  #keyOf({ method, args, shape }: SharedCall, rights: object): string {
    let number = this.#rights.get(rights)
    if (number === undefined) {
      this.#rightsCount += 1
      number = this.#rightsCount
      this.#rights.set(rights, number)
    }
    return `${number} ${method.name} ${JSON.stringify(args)} ${shape}`
  }

  #suits(query: SharedQuery, result: SharedResult, { index, exact }: Needed): boolean {
    if (result.retired) return false
    if (result.sinceIndex >= index && (exact || this.#isNew(result))) return true
    return !exact && this.stands(query)
  }

  #isNew({ ranMs }: SharedResult): boolean {
    return this.#options.clock.monotonicMs() - ranMs <= rerunMs
  }

  async #run(
    query: SharedQuery,
    { method, args, caller }: SharedCall,
    permissions: Permissions,
  ): Promise<void> {
    const { state, clock } = this.#options
    const sinceIndex = state.appliedIndex
    const context = new SharedContext(caller, permissions, this.#options.services)
    const view = state.view(true)
    try {
      const { value, index } = await method.query(view, args as never, context)
      if (context.personal) {
        query.alone = true
        view.close()
        return
      }
      context.seal()
      if (query.result !== null) {
        this.#idle.delete(query.result)
        query.result.retire()
      }
      query.index = Math.max(index, view.floorIndex, 1)
      query.touched = view.touched()
      query.standsUntil = sinceIndex
      query.byToken.clear()
      const ranMs = clock.monotonicMs()
      query.result = new SharedResult({ value, index: query.index }, { sinceIndex, ranMs, view })
      if (!isAsyncIterable(value)) view.close()
      // Unless someone still wants it, it goes like any other. Once stopped it would go before those that wait for this run
      // have taken it: each would find it retired and run again, without end and without a turn of the event loop.
      const release = this.#use(query.result)
      if (this.#stopped) setImmediate(release)
      else release()
    } catch (error) {
      view.close()
      // It may tell who asked, as a refusal does: the others learn nothing of it, each runs its own.
      if (!context.personal) throw error
      query.alone = true
    } finally {
      query.running = null
    }
  }

  #armSweep(): void {
    if (this.#sweep !== null || this.#stopped) return
    this.#sweep = this.#options.clock.setTimer(lingerMs, () => {
      this.#sweep = null
      this.#forget(this.#options.clock.monotonicMs() - lingerMs)
      if (this.#queries.size > 0) this.#armSweep()
    })
  }

  /** What nobody has asked for since. */
  #forget(sinceMs: number): void {
    for (const result of this.#idle) {
      if (result.idleMs > sinceMs) break
      this.#idle.delete(result)
      result.retire()
    }
    for (const [key, query] of this.#queries) {
      if (query.result?.retired === true) query.result = null
      const asked = query.waiting > 0 || query.running !== null || query.soughtMs > sinceMs
      if (query.result === null && !asked) this.#queries.delete(key)
    }
  }
}

/** Notes when a query looks at who asks: then its answer is nobody else's. */
class SharedContext implements QueryContext {
  readonly signal = never
  personal = false
  readonly #caller: Caller
  readonly #permissions: Permissions
  readonly #services: Services
  #sealed = false

  constructor(caller: Caller, permissions: Permissions, services: Services) {
    this.#caller = caller
    this.#permissions = permissions
    this.#services = services
  }

  get caller(): Caller {
    this.#notePersonal()
    return this.#caller
  }

  get accessor(): string | null {
    this.#notePersonal()
    return this.#permissions.accessor ?? null
  }

  readonly may = (requirement: Requirement): boolean => this.#permissions.may(requirement)

  readonly missing = (requirement: Requirement): string =>
    this.#permissions.missing?.(requirement) ?? ''

  get service(): Services['get'] {
    return this.#services.get
  }

  /** From now on it is too late to look. */
  seal(): void {
    this.#sealed = true
  }

  #notePersonal(): void {
    assert(!this.#sealed, 'a query looks at its caller before it has a result, or never')
    this.personal = true
  }
}

export function isAsyncIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}
