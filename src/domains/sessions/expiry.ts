/**
 * The leader ends sessions whose time is over, by ordinary entries of the log.
 *
 * What makes it safe: a renewal that is acknowledged is in the log, and was applied here, before the entry that ends
 * the session is proposed. For while a renewal waits or is under way its session is left alone, a renewal that comes
 * later comes later in the log too and finds nothing, and a new leader begins with an entry of its own, behind which
 * it has applied all that its predecessors acknowledged.
 */
import type { Reader } from '../../fsm/domain.ts'
import { delay } from '../../lib/async.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { endedMax, type EndOutcome, type EndSessions } from './commands.ts'
import type { SessionDeadlines } from './deadlines.ts'
import { allNamespaces, type SessionPlace, type SessionRow } from './model.ts'
import { allSessions, sessionOf } from './queries.ts'
import type { Propose, Renewals } from './renewals.ts'

/** After the time to live: what an acknowledgement may take to its client, and other servers to see it too. */
export const graceMs = 250
/** Renewals that waited for a leader come before the first expiry under it. */
const firstEndMs = 400
/** Sessions are looked at together by slices of this length. */
const sliceMs = 100
/** What could not be ended is tried again after this. */
const retryMs = 500
/** Entries of expiry under way at a time. */
const entriesMax = 16

export type ExpiryOptions = {
  readonly clock: Clock
  readonly log: Logger
  readonly view: () => Reader & { close(): void }
  readonly propose: Propose
  readonly deadlines: SessionDeadlines
  readonly renewals: Renewals
}

export class Expiry {
  readonly #options: ExpiryOptions
  readonly #abort = new AbortController()
  /** Sessions by the number of the slice in which they are looked at next. */
  readonly #slices = new Map<number, Map<string, SessionPlace>>()
  readonly #firstEndMs: number
  readonly #unsubscribe: () => void
  /** Entries that end sessions and are not applied yet. */
  readonly #ending = new Set<Promise<void>>()
  #starting: Promise<void> = Promise.resolve()
  /** All slices below this are over. */
  #next: number
  #timer: Timer | null = null
  #started = false

  constructor(options: ExpiryOptions) {
    this.#options = options
    const nowMs = options.clock.monotonicMs()
    this.#firstEndMs = nowMs + firstEndMs
    this.#next = sliceOf(nowMs)
    this.#unsubscribe = options.deadlines.onBegin((row) => this.#arm(row))
  }

  start(): void {
    this.#starting = this.#start()
  }

  async stop(): Promise<void> {
    this.#abort.abort()
    this.#unsubscribe()
    this.#timer?.cancel()
    this.#timer = null
    await this.#starting
    await Promise.all(this.#ending)
  }

  async #start(): Promise<void> {
    const { propose, view, log } = this.#options
    for (;;) {
      if (this.#abort.signal.aborted) return
      try {
        // An entry of this leader's own term: once it is applied, so is all that was acknowledged before.
        await propose({ type: 'sessions.renew', args: { places: [], stretch: 1 } })
        break
      } catch (error) {
        log.debug('the first entry for sessions is tried again', { error: textOf(error) })
        await delay(this.#options.clock, retryMs, this.#abort.signal)
      }
    }
    const reader = view()
    try {
      for await (const page of allSessions(reader, allNamespaces)) {
        for (const row of page) this.#arm(row)
      }
    } finally {
      reader.close()
    }
    this.#started = true
    this.#tickLater()
  }

  #arm(row: SessionRow): void {
    const untilMs = this.#options.deadlines.untilMs(row)
    if (untilMs !== null) this.#look(row, this.#dueMs(untilMs))
  }

  #dueMs(untilMs: number): number {
    return Math.max(untilMs + graceMs, this.#firstEndMs)
  }

  /** In the first slice after `dueMs` that is not over. */
  #look({ namespace, id }: SessionPlace, dueMs: number): void {
    const slice = Math.max(sliceOf(dueMs) + 1, this.#next)
    const places = this.#slices.get(slice) ?? new Map<string, SessionPlace>()
    places.set(id, { namespace, id })
    this.#slices.set(slice, places)
    this.#tickLater()
  }

  #tickLater(): void {
    if (this.#timer !== null || !this.#started || this.#slices.size === 0) return
    if (this.#abort.signal.aborted) return
    const { clock } = this.#options
    const nowMs = clock.monotonicMs()
    const waitMs = (sliceOf(nowMs) + 1) * sliceMs - nowMs
    this.#timer = clock.setTimer(waitMs, () => {
      this.#timer = null
      this.#tick(clock.monotonicMs())
      this.#tickLater()
    })
  }

  #tick(nowMs: number): void {
    const due: SessionPlace[] = []
    const last = sliceOf(nowMs)
    for (; this.#next <= last; this.#next += 1) {
      const places = this.#slices.get(this.#next)
      if (places === undefined) continue
      this.#slices.delete(this.#next)
      for (const place of places.values()) due.push(place)
    }
    if (due.length === 0) return
    const over = this.#over(due, nowMs)
    for (let start = 0; start < over.length; start += endedMax) {
      const places = over.slice(start, start + endedMax)
      // In this very turn: no renewal can come between the look above and the proposal.
      if (this.#ending.size < entriesMax) this.#end(places)
      else for (const place of places) this.#look(place, nowMs)
    }
  }

  /** Those of `due` that are to be ended now; the others are looked at later, or are gone. */
  #over(due: readonly SessionPlace[], nowMs: number): readonly SessionPlace[] {
    const { view, deadlines, renewals } = this.#options
    const over: SessionPlace[] = []
    const reader = view()
    try {
      for (const place of due) {
        const row = sessionOf(reader, place)
        const untilMs = row === null ? null : deadlines.untilMs(row)
        if (untilMs === null) continue
        const dueMs = this.#dueMs(untilMs)
        if (dueMs > nowMs) this.#look(place, dueMs)
        else if (renewals.isPending(place.id)) this.#look(place, nowMs)
        else over.push(place)
      }
    } finally {
      reader.close()
    }
    return over
  }

  #end(places: readonly SessionPlace[]): void {
    const { propose, clock, log } = this.#options
    const args: EndSessions = { places, nowMs: Math.floor(clock.wallMs()) }
    const ending = propose({ type: 'sessions.end', args })
      .then(
        ({ outcome }) => {
          const { ended } = outcome as EndOutcome
          log.info('sessions expired', { count: ended.length })
        },
        (error: unknown) => {
          log.warn('sessions could not be ended yet', { error: textOf(error) })
          for (const place of places) this.#look(place, clock.monotonicMs() + retryMs)
        },
      )
      .finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}

function sliceOf(atMs: number): number {
  return Math.floor(atMs / sliceMs)
}
