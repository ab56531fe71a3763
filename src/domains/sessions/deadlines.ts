/**
 * Until when each session with a time to live lives, by this server's own clock. Kept on every server, so that
 * whichever leads next knows it too.
 *
 * A creation or renewal is acknowledged once its log entry is committed, and a server sees it in its log after it was
 * committed. So "seen + life" (one time to live, or two) is never before what any client was told, whichever server leads and however clocks
 * differ; and it is late by no more than this server was behind. What was in the state before this server began to
 * listen was renewed before then at the latest, so it lives on from there; and as long as those it hears of, for
 * lives that are lengthened under load are lengthened alike. It begins with the first entry that it applies: before that
 * one the cluster may have had no majority for long, as when its servers come up far apart, and nobody could renew.
 */
import type { Proposable, Reader } from '../../fsm/domain.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { onView } from '../host.ts'
import {
  createSession,
  endSessions,
  renewSessions,
  type CreateOutcome,
  type EndOutcome,
  type RenewOutcome,
  type RenewSessions,
} from './commands.ts'
import { lifeMsOf, type SessionPlace, type SessionRow } from './model.ts'
import { sessionOf } from './queries.ts'

/** How a server hears of what it applies; the machine gives it. Each returns the way to stop listening. */
export type AppliedSource = {
  onCommand<Args, Outcome>(
    command: Proposable<Args, Outcome>,
    listener: (applied: { readonly args: Args; readonly outcome: Outcome }) => void,
  ): () => void
  onReplaced(listener: () => void): () => void
  onApplied(listener: (appliedIndex: number) => void): () => void
}

export type DeadlinesOptions = {
  readonly clock: Clock
  readonly applied: AppliedSource
  readonly view: () => Reader & { close(): void }
}

/** How often those are looked for that ended in an entry of another domain, and when: well after their time. */
export const sweepMs = 60_000
/** Sessions of one turn that are over and looked for in the state, and those that are passed: some milliseconds. */
export const lookedForMax = 256
const passedMax = 16_384

type Known = { readonly place: SessionPlace; untilMs: number }

export class SessionDeadlines {
  readonly #options: DeadlinesOptions
  readonly #known = new Map<string, Known>()
  readonly #unsubscribe: (() => void)[]
  /** Everything committed after this was heard here. Of a process that has applied nothing yet: its start. */
  #sinceMs: number
  /** The most by which a life was lengthened that was heard of here. */
  #stretchHeard = 1
  #sweep: Timer | null = null
  /** Of the leader: hears of each session that begins to have a deadline. */
  #onBegin: ((row: SessionRow) => void) | null = null

  constructor(options: DeadlinesOptions) {
    this.#options = options
    const { applied, clock } = options
    this.#sinceMs = clock.monotonicMs()
    this.#unsubscribe = [
      applied.onCommand(createSession, ({ outcome }) => this.#created(outcome)),
      applied.onCommand(renewSessions, ({ args, outcome }) => this.#renewed(args, outcome)),
      applied.onCommand(endSessions, ({ outcome }) => this.#ended(outcome)),
      applied.onReplaced(() => {
        this.#known.clear()
        this.#sinceMs = clock.monotonicMs()
      }),
    ]
    const leave = applied.onApplied(() => {
      leave()
      this.#sinceMs = clock.monotonicMs()
    })
    this.#unsubscribe.push(leave)
    this.#sweepLater()
  }

  get knownCount(): number {
    return this.#known.size
  }

  /** Monotonic ms of this server; null for a session without a time to live that hangs on no token's time. */
  untilMs(row: SessionRow): number | null {
    const lifeMs = lifeMsOf(row, this.#stretchHeard)
    const ofToken = this.#tokenUntilMs(row)
    if (lifeMs === null) return ofToken
    const known = this.#known.get(row.id)
    const ofTtl = known?.untilMs ?? this.#sinceMs + lifeMs
    return ofToken === null ? ofTtl : Math.min(ofToken, ofTtl)
  }

  /** By this server's wall clock, as its tokens end. */
  #tokenUntilMs({ tokenEndMs }: SessionRow): number | null {
    const { clock } = this.#options
    return tokenEndMs === undefined ? null : clock.monotonicMs() + tokenEndMs - clock.wallMs()
  }

  /** There is one listener, the leader's. Returns the way to stop listening. */
  onBegin(listener: (row: SessionRow) => void): () => void {
    this.#onBegin = listener
    return () => {
      this.#onBegin = null
    }
  }

  stop(): void {
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#sweep?.cancel()
    this.#sweep = null
  }

  #created(outcome: CreateOutcome): void {
    if (outcome.type !== 'created') return
    this.#extend(outcome.row, 1)
    this.#onBegin?.(outcome.row)
  }

  #renewed({ stretch }: RenewSessions, { renewed }: RenewOutcome): void {
    this.#stretchHeard = Math.max(this.#stretchHeard, stretch)
    for (const row of renewed) if (row !== null) this.#extend(row, stretch)
  }

  #ended({ ended }: EndOutcome): void {
    for (const id of ended) this.#known.delete(id)
  }

  #extend(row: SessionRow, stretch: number): void {
    const lifeMs = lifeMsOf(row, stretch)
    if (lifeMs === null) return
    const untilMs = this.#options.clock.monotonicMs() + lifeMs
    const known = this.#known.get(row.id)
    if (known === undefined) {
      this.#known.set(row.id, { place: { namespace: row.namespace, id: row.id }, untilMs })
    } else {
      known.untilMs = Math.max(known.untilMs, untilMs)
    }
  }

  #sweepLater(): void {
    this.#sweep = this.#options.clock.setTimer(sweepMs, () =>
      this.#sweepSome(this.#known.entries()),
    )
  }

  /** What comes or goes between two turns is as good: a map's iterator goes on with what is there. */
  #sweepSome(known: Iterator<readonly [id: string, Known]>): void {
    const { clock, view } = this.#options
    const beforeMs = clock.monotonicMs() - sweepMs
    const isOver = onView(view, (reader) => {
      let lookedFor = 0
      for (let passed = 0; passed < passedMax && lookedFor < lookedForMax; passed += 1) {
        const { done, value } = known.next()
        if (done === true) return true
        const [id, { place, untilMs }] = value
        if (untilMs >= beforeMs) continue
        lookedFor += 1
        if (sessionOf(reader, place) === null) this.#known.delete(id)
      }
      return false
    })
    if (isOver) this.#sweepLater()
    else this.#sweep = clock.setTimer(0, () => this.#sweepSome(known))
  }
}
