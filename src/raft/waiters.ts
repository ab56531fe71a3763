/**
 * Those who wait on a Raft node: proposals for their outcome, reads for an index, readers for the state to reach it.
 * Every one of them ends: with a result, with an error that says what is known, or at its deadline.
 */
import { MusterError } from '../lib/errors.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import type { LogIndex, Term } from './core/message.ts'

export type Applied = { readonly index: LogIndex; readonly outcome: unknown }

type Proposal = {
  readonly term: Term
  readonly resolve: (applied: Applied) => void
  readonly reject: (error: MusterError) => void
}

/** Own proposals by index, from the append until they are applied or their fate is out of our hands. */
export class Proposals {
  readonly #byIndex = new Map<LogIndex, Proposal>()

  get size(): number {
    return this.#byIndex.size
  }

  wait(index: LogIndex, term: Term): Promise<Applied> {
    return new Promise((resolve, reject) => {
      this.#byIndex.set(index, { term, resolve, reject })
    })
  }

  applied(index: LogIndex, term: Term, outcome: unknown): void {
    const proposal = this.#byIndex.get(index)
    if (proposal === undefined) return
    this.#byIndex.delete(index)
    if (proposal.term === term) proposal.resolve({ index, outcome })
    else proposal.reject(unknownOutcome())
  }

  /** Leadership ended: what is not committed yet may still be, by another leader. What is committed will be applied. */
  abandon(commitIndex: LogIndex): void {
    for (const [index, proposal] of this.#byIndex) {
      if (index <= commitIndex) continue
      this.#byIndex.delete(index)
      proposal.reject(unknownOutcome())
    }
  }
}

function unknownOutcome(): MusterError {
  return new MusterError(
    'outcome_unknown',
    'the leader was lost while this write was under way: it may or may not take effect',
  )
}

type Waiter<T> = {
  readonly deadlineMs: number
  readonly resolve: (value: T) => void
  readonly reject: (error: MusterError) => void
}

/** How late a deadline may be noticed; one timer serves all waiters. */
const sweepMs = 50

/** Waiters with deadlines and abort signals, under any key. One sweep for all instead of a timer for each. */
export class DeadlineWaiters<Key, Value> {
  readonly #clock: Clock
  readonly #waiters = new Map<Key, Waiter<Value>>()
  #sweep: Timer | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#waiters.size
  }

  wait(key: Key, deadlineMs: number, timeoutText: string, signal?: AbortSignal): Promise<Value> {
    return new Promise<Value>((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(new MusterError('cancelled', 'the caller went away'))
        return
      }
      const onAbort = () => this.#reject(key, new MusterError('cancelled', 'the caller went away'))
      signal?.addEventListener('abort', onAbort, { once: true })
      this.#waiters.set(key, {
        deadlineMs,
        resolve: (value) => {
          signal?.removeEventListener('abort', onAbort)
          resolve(value)
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort)
          reject(error.code === 'timeout' ? new MusterError('timeout', timeoutText) : error)
        },
      })
      this.#arm()
    })
  }

  resolve(key: Key, value: Value): void {
    const waiter = this.#waiters.get(key)
    this.#waiters.delete(key)
    waiter?.resolve(value)
  }

  /** All whose key satisfies `which`. */
  resolveWhere(which: (key: Key) => boolean, value: Value): void {
    for (const key of this.#waiters.keys()) if (which(key)) this.resolve(key, value)
  }

  rejectAll(error: MusterError): void {
    for (const key of this.#waiters.keys()) this.#reject(key, error)
    this.#sweep?.cancel()
    this.#sweep = null
  }

  #reject(key: Key, error: MusterError): void {
    const waiter = this.#waiters.get(key)
    this.#waiters.delete(key)
    waiter?.reject(error)
  }

  #arm(): void {
    if (this.#sweep !== null) return
    this.#sweep = this.#clock.setTimer(sweepMs, () => {
      this.#sweep = null
      const now = this.#clock.monotonicMs()
      for (const [key, waiter] of this.#waiters) {
        if (waiter.deadlineMs <= now) this.#reject(key, new MusterError('timeout', ''))
      }
      if (this.#waiters.size > 0) this.#arm()
    })
  }
}
