/**
 * Blocking queries that wait. Those that wait for the same rows are one group: the state knows it as one reader, it has one
 * timer, and when it wakes its members leave one after another through the wake queue.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import { threadMs } from '../lib/thread-time.ts'
import type { ReadableState, Touched } from './state.ts'
import { WakeQueue, type Wakeable, type WakeRoom } from './wake-queue.ts'

/** Between two looks at the deadlines of one group: those that pass meanwhile pass together. */
export const deadlinesEveryMs = 20

/** How a wait ended: something changed, and the state was at `index`; or the time was up. */
export type WaitEnd = { readonly changed: boolean; readonly index: number }

export type Wait = {
  /** What was read, and is waited for. Those who give the same object wait together. */
  readonly touched: Touched
  /** The query that reads it: those with the same one wake in the order in which their changes came. */
  readonly query: object
  /** Of the state that was read, or an earlier one. */
  readonly sinceIndex: number
  readonly untilMs: number
  /** Fires when the caller goes away. */
  readonly signal: AbortSignal
}

export type ParkingOptions = {
  readonly state: ReadableState
  readonly clock: Clock
  readonly room: WakeRoom | null
}

type Group = {
  readonly touched: Touched
  readonly query: object
  readonly members: Set<Member>
  unpark: () => void
  timer: Timer | null
  /** When the timer fires. */
  timerMs: number
}

export class Parking {
  readonly #options: ParkingOptions
  readonly #queue: WakeQueue
  readonly #groups = new Map<Touched, Group>()
  #count = 0

  constructor(options: ParkingOptions) {
    this.#options = options
    this.#queue = new WakeQueue(threadMs, options.room)
  }

  /** Queries that wait for a change, or for their turn after one. */
  get count(): number {
    return this.#count
  }

  /** Rejects with `cancelled`, or when the state takes no more readers. */
  wait(wait: Wait): Promise<WaitEnd> {
    const { signal } = wait
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(cancelled())
        return
      }
      const known = this.#groups.get(wait.touched)
      const group = known ?? this.#open(wait)
      const member = new Member(wait, { resolve, reject }, () => this.#leave(member, group))
      group.members.add(member)
      this.#count += 1
      this.#arm(group, wait.untilMs)
      if (known !== undefined && this.#isLate(wait)) this.#wake(group, [member], true)
    })
  }

  /** Ends all waits as if their time was up. */
  drain(): void {
    for (const group of this.#groups.values()) this.#wake(group, [...group.members], false)
  }

  /** The group may have begun to wait behind a change that this one has not seen. */
  #isLate({ touched, sinceIndex }: Wait): boolean {
    return this.#options.state.changedSince(sinceIndex, touched) !== false
  }

  #open({ touched, query, sinceIndex }: Wait): Group {
    const group: Group = {
      touched,
      query,
      members: new Set(),
      unpark: () => {},
      timer: null,
      timerMs: Infinity,
    }
    group.unpark = this.#options.state.park(touched, sinceIndex, () => {
      this.#wake(group, [...group.members], true)
    })
    this.#groups.set(touched, group)
    return group
  }

  #wake(group: Group, members: Member[], changed: boolean): void {
    const end: WaitEnd = { changed, index: this.#options.state.appliedIndex }
    for (const member of members) {
      group.members.delete(member)
      member.end = end
    }
    if (group.members.size === 0) this.#close(group)
    this.#queue.add(members, group.query)
  }

  #leave(member: Member, group: Group): void {
    this.#count -= 1
    if (group.members.delete(member) && group.members.size === 0) this.#close(group)
  }

  #close(group: Group): void {
    // It may be gone already, and another one be there for the same rows.
    if (this.#groups.get(group.touched) === group) this.#groups.delete(group.touched)
    group.unpark()
    group.timer?.cancel()
    group.timer = null
  }

  /** Sees to it that the timer fires at `atMs` or before. */
  #arm(group: Group, atMs: number): void {
    const { clock } = this.#options
    if (group.timer !== null && group.timerMs <= atMs) return
    group.timer?.cancel()
    group.timerMs = atMs
    const delayMs = Math.max(0, atMs - clock.monotonicMs())
    group.timer = clock.setTimer(delayMs, () => this.#endDue(group))
  }

  #endDue(group: Group): void {
    const nowMs = this.#options.clock.monotonicMs()
    const due: Member[] = []
    let nextMs = Infinity
    for (const member of group.members) {
      if (member.untilMs <= nowMs) due.push(member)
      else nextMs = Math.min(nextMs, member.untilMs)
    }
    group.timer = null
    this.#wake(group, due, false)
    if (group.members.size > 0) this.#arm(group, Math.max(nextMs, nowMs + deadlinesEveryMs))
  }
}

type Settle = {
  readonly resolve: (end: WaitEnd) => void
  readonly reject: (error: MusterError) => void
}

/** One that waits. It hears of its caller's leaving itself, so that there is no function for each. */
class Member implements Wakeable {
  readonly untilMs: number
  /** Set when it is in the wake queue. */
  end: WaitEnd | null = null
  readonly #signal: AbortSignal
  readonly #settle: Settle
  readonly #onLeave: () => void
  #over = false

  constructor({ untilMs, signal }: Wait, settle: Settle, onLeave: () => void) {
    this.untilMs = untilMs
    this.#signal = signal
    this.#settle = settle
    this.#onLeave = onLeave
    signal.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    if (this.#leave()) this.#settle.reject(cancelled())
  }

  go(): 'gone' | 'went' {
    if (this.end === null || !this.#leave()) return 'gone'
    this.#settle.resolve(this.end)
    return 'went'
  }

  #leave(): boolean {
    if (this.#over) return false
    this.#over = true
    this.#signal.removeEventListener('abort', this)
    this.#onLeave()
    return true
  }
}

function cancelled(): MusterError {
  return new MusterError('cancelled', 'the caller went away')
}
