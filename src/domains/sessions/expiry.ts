/**
 * The leader ends sessions whose time is over, by ordinary entries of the log.
 *
 * What makes it safe: a renewal that is acknowledged is in the log, and was applied here, before the entry that ends
 * the session is proposed. For while a renewal waits or is under way its session is left alone, a renewal that comes
 * later comes later in the log too and finds nothing, and a new leader begins with an entry of its own, behind which
 * it has applied all that its predecessors acknowledged.
 */
import { delay } from '../../lib/async.ts'
import { DeadlineWheel } from '../../lib/deadline-wheel.ts'
import { textOf } from '../../lib/errors.ts'
import type { Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import { endSessions, renewSessions, endedMax, type EndSessions } from './commands.ts'
import type { SessionDeadlines } from './deadlines.ts'
import { allNamespaces, type SessionPlace, type SessionRow } from './model.ts'
import { allSessions, sessionOf } from './queries.ts'
import type { Renewals } from './renewals.ts'

/** After the time to live: what an acknowledgement may take to its client, and other servers to see it too. */
export const graceMs = 250
/** Renewals that waited for a leader come before the first expiry under it. */
const firstEndMs = 400
/** How late a session may be looked at. */
const sliceMs = 100
/** What could not be ended is tried again after this. */
const retryMs = 500
/** Entries of expiry under way at a time. */
const entriesMax = 16

export type ExpiryOptions = DutyContext & {
  readonly deadlines: SessionDeadlines
  readonly renewals: Renewals
}

export class Expiry implements Running {
  readonly #options: ExpiryOptions
  readonly #stopping = new AbortController()
  /** When each session is looked at next: it may be renewed until then, and is not moved for that. */
  readonly #wheel: DeadlineWheel<SessionPlace>
  readonly #firstEndMs: number
  readonly #unsubscribe: () => void
  /** Entries that end sessions and are not applied yet. */
  readonly #ending = new Set<Promise<void>>()
  readonly #starting: Promise<void>

  constructor(options: ExpiryOptions) {
    const { clock, deadlines } = options
    this.#options = options
    this.#firstEndMs = clock.monotonicMs() + firstEndMs
    this.#wheel = new DeadlineWheel<SessionPlace>({
      clock,
      sliceMs,
      keyOf: ({ id }) => id,
      batchMax: endedMax,
      onDue: (places) => this.#look(places),
    })
    this.#unsubscribe = deadlines.onBegin((row) => this.#arm(row))
    this.#starting = this.#start()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#unsubscribe()
    this.#wheel.stop()
    await this.#starting
    await Promise.all(this.#ending)
  }

  async #start(): Promise<void> {
    const { propose, view, log } = this.#options
    for (;;) {
      if (this.#stopping.signal.aborted) return
      try {
        // An entry of this leader's own term: once it is applied, so is all that was acknowledged before.
        await propose(renewSessions, { places: [], stretch: 1 })
        break
      } catch (error) {
        log.debug('the first entry for sessions is tried again', { error: textOf(error) })
        await delay(this.#options.clock, retryMs, this.#stopping.signal)
      }
    }
    await onView(view, async (reader) => {
      for await (const page of allSessions(reader, allNamespaces)) {
        for (const row of page) this.#arm(row)
      }
    })
    this.#wheel.start()
  }

  #arm(row: SessionRow): void {
    const untilMs = this.#options.deadlines.untilMs(row)
    if (untilMs === null) return
    const { namespace, id } = row
    this.#wheel.arm({ namespace, id }, this.#dueMs(untilMs))
  }

  #dueMs(untilMs: number): number {
    return Math.max(untilMs + graceMs, this.#firstEndMs)
  }

  #look(due: readonly SessionPlace[]): void {
    const nowMs = this.#options.clock.monotonicMs()
    if (this.#ending.size >= entriesMax) {
      for (const place of due) this.#wheel.arm(place, nowMs)
      return
    }
    // Both in this very turn: no renewal can come between the look and the proposal.
    const over = this.#over(due, nowMs)
    if (over.length > 0) this.#end(over)
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
        if (dueMs > nowMs) this.#wheel.arm(place, dueMs)
        else if (renewals.isPending(place.id)) this.#wheel.arm(place, nowMs)
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
    const ending = propose(endSessions, args)
      .then(
        ({ outcome }) => {
          const { ended } = outcome
          log.info('sessions expired', { count: ended.length })
        },
        (error: unknown) => {
          log.warn('sessions could not be ended yet', { error: textOf(error) })
          for (const place of places) this.#wheel.arm(place, clock.monotonicMs() + retryMs)
        },
      )
      .finally(() => this.#ending.delete(ending))
    this.#ending.add(ending)
  }
}
