/**
 * Callers that wait on a Raft node: proposals for their outcome, reads for an index, readers for the state to reach it.
 * Every one of them ends: with a result, with an error that says what is known, or at its deadline.
 */
import { MusterError } from '../lib/errors.ts'
import { ChurnMap } from '../lib/churn-map.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { LogIndex, Term } from './core/message.ts'
import type { ProposeOptions } from './raft.ts'

export type Applied = { readonly index: LogIndex; readonly outcome: unknown }

type Proposal = {
  readonly term: Term
  readonly lingerMs: number
  /** Infinity: none, or its proposer was told. */
  deadlineMs: number
  readonly resolve: (applied: Applied) => void
  readonly reject: (error: MusterError) => void
}

/** How late a deadline may be noticed; one timer serves all waiters. */
const sweepMs = 50
/** How long a proposal lingers where the disk takes no writes: entries that are not stored are not applied. */
const stalledLingerMsMax = 2_500

/** Own proposals by index, from the append until they are applied or their fate is out of our hands. */
export class Proposals {
  readonly #clock: Clock
  readonly #byIndex = new ChurnMap<LogIndex, Proposal>()
  /** Of those that linger. */
  readonly #timers = new Set<Timer>()
  #sweep: Timer | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#byIndex.size
  }

  /** `lingerMs`: for how long after the end of leadership, see `orphan`. */
  wait(
    index: LogIndex,
    term: Term,
    { lingerMs = 0, deadlineMs = Infinity }: Omit<ProposeOptions, 'term'> = {},
  ): Promise<Applied> {
    if (deadlineMs < Infinity) this.#armSweep()
    return new Promise((resolve, reject) => {
      // One that lingers was cut from this server's log. Others may have it still, so it is not known to be lost.
      this.#byIndex.take(index)?.reject(unknownOutcome())
      this.#byIndex.set(index, { term, lingerMs, deadlineMs, resolve, reject })
    })
  }

  applied(index: LogIndex, term: Term, outcome: unknown): void {
    const proposal = this.#byIndex.take(index)
    if (proposal === undefined) return
    if (proposal.term === term) proposal.resolve({ index, outcome })
    else proposal.reject(overwritten())
  }

  /**
   * Leadership ended: what is not committed yet may still be, by another leader, or another entry takes its place. This
   * server hears which when it applies that index, if it hears of the new leader soon. What is committed will be applied,
   * unless `stalls`: the disk stands still, perhaps for long, perhaps only because this process did.
   */
  orphan(commitIndex: LogIndex, stalls: boolean): void {
    const lingering: (readonly [LogIndex, Proposal])[] = []
    let lingerMs = 0
    for (const [index, proposal] of this.#byIndex.entries()) {
      if (index <= commitIndex) continue
      if (proposal.lingerMs === 0) this.#giveUp(index, proposal)
      else lingering.push([index, proposal])
      lingerMs = Math.max(lingerMs, proposal.lingerMs)
    }
    if (lingering.length === 0) return
    const waitMs = stalls ? Math.min(lingerMs, stalledLingerMsMax) : lingerMs
    const timer = this.#clock.setTimer(waitMs, () => {
      this.#timers.delete(timer)
      for (const [index, proposal] of lingering) this.#giveUp(index, proposal)
    })
    this.#timers.add(timer)
  }

  /** Nothing more will be heard of any. */
  abandonAll(): void {
    for (const timer of this.#timers) timer.cancel()
    this.#timers.clear()
    this.#sweep?.cancel()
    this.#sweep = null
    for (const [index, proposal] of this.#byIndex.entries()) this.#giveUp(index, proposal)
  }

  /** A snapshot up to `index` took the place of the state: whether their entries are in it is not known. */
  skipped(index: LogIndex): void {
    for (const [at, proposal] of this.#byIndex.entries())
      if (at <= index) this.#giveUp(at, proposal)
  }

  #armSweep(): void {
    if (this.#sweep !== null) return
    this.#sweep = this.#clock.setTimer(sweepMs, () => {
      this.#sweep = null
      const now = this.#clock.monotonicMs()
      for (const [, proposal] of this.#byIndex.entries()) {
        if (proposal.deadlineMs > now) continue
        // Its record stays: the entry may still be applied.
        proposal.deadlineMs = Infinity
        proposal.reject(unconfirmed())
      }
      if (this.#byIndex.size > 0) this.#armSweep()
    })
  }

  #giveUp(index: LogIndex, proposal: Proposal): void {
    if (this.#byIndex.get(index) !== proposal) return
    this.#byIndex.take(index)
    proposal.reject(unknownOutcome())
  }
}

function overwritten(): MusterError {
  return new MusterError(
    'not_leader',
    'the leader was lost while this write was under way, and another entry took its place in the log',
  )
}

function unknownOutcome(): MusterError {
  return new MusterError(
    'outcome_unknown',
    'the leader was lost while this write was under way: it may or may not take effect',
  )
}

function unconfirmed(): MusterError {
  return new MusterError(
    'outcome_unknown',
    'the time was up before the write was confirmed: it may or may not take effect',
  )
}

type Waiter<T> = {
  readonly deadlineMs: number
  readonly timeoutText: string
  readonly resolve: (value: T) => void
  readonly reject: (error: MusterError) => void
}

/** Waiters with deadlines, under any key. One sweep for all instead of a timer for each. */
export class DeadlineWaiters<Key, Value> {
  readonly #clock: Clock
  readonly #waiters = new ChurnMap<Key, Waiter<Value>>()
  #sweep: Timer | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  wait(key: Key, deadlineMs: number, timeoutText: string): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      this.#waiters.set(key, { deadlineMs, timeoutText, resolve, reject })
      this.#arm()
    })
  }

  resolve(key: Key, value: Value): void {
    this.#waiters.take(key)?.resolve(value)
  }

  /** All whose key satisfies `which`. */
  resolveWhere(which: (key: Key) => boolean, value: Value): void {
    for (const key of this.#waiters.keys()) if (which(key)) this.resolve(key, value)
  }

  rejectAll(error: MusterError): void {
    for (const key of this.#waiters.keys()) this.#waiters.take(key)?.reject(error)
    this.#sweep?.cancel()
    this.#sweep = null
  }

  #arm(): void {
    if (this.#sweep !== null) return
    this.#sweep = this.#clock.setTimer(sweepMs, () => {
      this.#sweep = null
      const now = this.#clock.monotonicMs()
      for (const [key, { deadlineMs, timeoutText, reject }] of this.#waiters.entries()) {
        if (deadlineMs > now) continue
        this.#waiters.take(key)
        reject(new MusterError('timeout', timeoutText))
      }
      if (this.#waiters.size > 0) this.#arm()
    })
  }
}
