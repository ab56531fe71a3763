/**
 * Evaluations that wait for a worker: the highest priority first, among equals the oldest. Of a job one is worked on at a time, so that two
 * workers do not decide about the same allocations. One with a time waits until then, and those of a burst of registrations for its end.
 */
import { keyOfJob, type EvaluationRow } from '../evaluations/model.ts'
import type { Clock } from '../../lib/clock.ts'
import { DeadlineWheel } from '../../lib/deadline-wheel.ts'
import { deliveriesMax } from './model.ts'
import { RegistrationBurst } from './registration-burst.ts'

const sliceMs = 100
const batchMax = 256
const retryMs = 1_000

export type Queued = Pick<
  EvaluationRow,
  'id' | 'namespace' | 'jobId' | 'type' | 'priority' | 'triggeredBy' | 'waitUntilMs'
>

type Entry = {
  readonly evaluation: Queued
  state: 'waiting' | 'ready' | 'taken'
  /** When it became ready, monotonic. */
  readyMs: number
  deliveries: number
}

export class EvaluationQueue {
  readonly #clock: Clock
  readonly #onReady: () => void
  readonly #entries = new Map<string, Entry>()
  /** By priority, in the order in which they came. */
  readonly #ready = new Map<number, Set<Entry>>()
  /** By job, the evaluation that is worked on. */
  readonly #working = new Map<string, string>()
  /** By job that is worked on, others of it that were come by. */
  readonly #parked = new Map<string, Set<Entry>>()
  readonly #wheel: DeadlineWheel<string>
  readonly #burst: RegistrationBurst

  /** `onReady`: there may be one to take. */
  constructor(clock: Clock, onReady: () => void) {
    this.#clock = clock
    this.#onReady = onReady
    this.#wheel = new DeadlineWheel<string>({
      clock,
      sliceMs,
      keyOf: (id) => id,
      batchMax,
      onDue: (ids) => {
        for (const id of ids) this.#becomeReady(id)
      },
    })
    this.#wheel.start()
    this.#burst = new RegistrationBurst(clock, onReady)
  }

  /** Those that wait for a worker or a time, and those that are worked on. */
  get size(): number {
    return this.#entries.size
  }

  /** Whether there may be one to take. */
  get hasReady(): boolean {
    return this.#ready.size > 0
  }

  stop(): void {
    this.#wheel.stop()
    this.#burst.stop()
  }

  has(id: string): boolean {
    return this.#entries.has(id)
  }

  /** Nothing, where it is known. */
  add(evaluation: Queued): void {
    if (this.#entries.has(evaluation.id)) return
    this.#entries.set(evaluation.id, { evaluation, state: 'waiting', readyMs: 0, deliveries: 0 })
    this.#waitUntil(evaluation.id, evaluation.waitUntilMs - this.#clock.wallMs())
  }

  /** Null: there is none to take now that has been ready for so long. The taker says `done` or `failed` of it. */
  take(types: ReadonlySet<string>, readyForMs = 0): Queued | null {
    const nowMs = this.#clock.monotonicMs()
    const { waitMs } = this.#burst
    for (const priority of [...this.#ready.keys()].sort((left, right) => right - left)) {
      for (const entry of this.#ready.get(priority) ?? []) {
        const { evaluation } = entry
        const heldMs = isOfRegistration(evaluation) ? waitMs : 0
        if (nowMs - entry.readyMs < readyForMs + heldMs) {
          // Those behind it came later, but may not be held.
          if (heldMs > 0) continue
          break
        }
        if (!types.has(evaluation.type)) continue
        if (this.#working.has(keyOfJob(evaluation))) {
          this.#park(entry)
          continue
        }
        this.#leave(entry)
        entry.state = 'taken'
        entry.deliveries += 1
        this.#working.set(keyOfJob(evaluation), evaluation.id)
        return evaluation
      }
    }
    return null
  }

  /** It is over, blocked, or gone: nothing is known of it any more. */
  done(id: string): void {
    const entry = this.#entries.get(id)
    if (entry === undefined) return
    this.#entries.delete(id)
    this.#wheel.cancel(id)
    this.#leave(entry)
    this.#release(entry)
  }

  /** The taker could not end it. False: it was taken often enough, and its taker gives it up. */
  failed(id: string): boolean {
    const entry = this.#entries.get(id)
    if (entry === undefined) return true
    if (entry.deliveries >= deliveriesMax) return false
    entry.state = 'waiting'
    this.#release(entry)
    this.#waitUntil(id, retryMs * entry.deliveries)
    return true
  }

  #waitUntil(id: string, waitMs: number): void {
    if (waitMs <= 0) this.#becomeReady(id)
    else this.#wheel.arm(id, this.#clock.monotonicMs() + waitMs)
  }

  #becomeReady(id: string): void {
    const entry = this.#entries.get(id)
    if (entry === undefined || entry.state !== 'waiting') return
    entry.state = 'ready'
    entry.readyMs = this.#clock.monotonicMs()
    addTo(this.#ready, entry.evaluation.priority, entry)
    if (isOfRegistration(entry.evaluation)) this.#burst.came()
    this.#onReady()
  }

  #park(entry: Entry): void {
    removeFrom(this.#ready, entry.evaluation.priority, entry)
    addTo(this.#parked, keyOfJob(entry.evaluation), entry)
  }

  #leave(entry: Entry): void {
    removeFrom(this.#ready, entry.evaluation.priority, entry)
    removeFrom(this.#parked, keyOfJob(entry.evaluation), entry)
  }

  #release({ evaluation }: Entry): void {
    const job = keyOfJob(evaluation)
    if (this.#working.get(job) !== evaluation.id) return
    this.#working.delete(job)
    // One is enough: its end releases the next.
    for (const next of this.#parked.get(job) ?? []) {
      removeFrom(this.#parked, job, next)
      addTo(this.#ready, next.evaluation.priority, next)
      break
    }
    this.#onReady()
  }
}

function isOfRegistration({ triggeredBy }: Queued): boolean {
  return triggeredBy === 'job-register'
}

function addTo<Key>(sets: Map<Key, Set<Entry>>, key: Key, entry: Entry): void {
  const set = sets.get(key) ?? new Set<Entry>()
  sets.set(key, set)
  set.add(entry)
}

function removeFrom<Key>(sets: Map<Key, Set<Entry>>, key: Key, entry: Entry): void {
  const set = sets.get(key)
  set?.delete(entry)
  if (set?.size === 0) sets.delete(key)
}
