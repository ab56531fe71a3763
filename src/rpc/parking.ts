/**
 * Blocking queries that wait. Those that wait for the same rows are one group: the state knows it as one reader, it has one
 * timer, and when it wakes its members leave one after another through the wake queue.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { Crowd } from './crowd.ts'
import type { ReadableState, Touched } from './state.ts'
import { WakeQueue, type Wakeable, type WakeRoom } from './wake-queue.ts'

/** Between two looks at the deadlines of one group: those that pass meanwhile pass together. */
export const deadlinesEveryMs = 20

/** How a wait ended: something changed, and the state was at `index`; or the time was up. */
export type WaitEnd = { readonly changed: boolean; readonly index: number }

/**
 * One that waits: the record of the query itself, for there may be many thousands. Its `go` begins with `Parking.leave`; when
 * its caller goes away it leaves without having been told to go.
 */
export interface Waiter extends Wakeable {
  readonly untilMs: number
  /** Set while it waits for a change. */
  group: WaitGroup | null
  /** Set when it is in the wake queue. */
  end: WaitEnd | null
}

export type Wait = {
  /** What was read, and is waited for. Those who give the same object wait together. */
  readonly touched: Touched
  /** The query that reads it: those with the same one wake in the order in which their changes came. */
  readonly query: object
  /** Of the state that was read, or an earlier one. */
  readonly sinceIndex: number
}

export type ParkingOptions = {
  readonly state: ReadableState
  readonly clock: Clock
  readonly room: WakeRoom | null
  /** Told when very many begin to wait, and when they are over. */
  readonly crowded: (crowded: boolean) => void
}

export type WaitGroup = {
  readonly touched: Touched
  readonly query: object
  readonly members: Set<Waiter>
  unpark: () => void
  timer: Timer | null
  /** When the timer fires. */
  timerMs: number
}

export class Parking {
  readonly #options: ParkingOptions
  readonly #queue: WakeQueue
  readonly #crowd: Crowd
  readonly #groups = new Map<Touched, WaitGroup>()
  #count = 0

  constructor(options: ParkingOptions) {
    this.#options = options
    this.#queue = new WakeQueue(threadMs, options.room)
    this.#crowd = new Crowd(options.clock, options.crowded)
  }

  /** Queries that wait for a change, or for their turn after one. */
  get count(): number {
    return this.#count
  }

  /** Throws when the state takes no more readers. */
  wait(waiter: Waiter, wait: Wait): void {
    const known = this.#groups.get(wait.touched)
    const group = known ?? this.#open(wait)
    group.members.add(waiter)
    waiter.group = group
    waiter.end = null
    this.#count += 1
    this.#crowd.saw(this.#count)
    this.#arm(group, waiter.untilMs)
    if (known !== undefined && this.#isLate(wait)) {
      group.members.delete(waiter)
      this.#wake(group, [waiter], true)
    }
  }

  /** Of one that waits, or is in the wake queue. */
  leave(waiter: Waiter): void {
    const { group } = waiter
    this.#count -= 1
    waiter.group = null
    if (group === null || !group.members.delete(waiter)) return
    if (group.members.size === 0) this.#close(group)
  }

  /** Ends all waits as if their time was up. */
  drain(): void {
    for (const group of this.#groups.values()) this.#wakeAll(group, false)
    this.#crowd.stop()
  }

  /** The group may have begun to wait behind a change that this one has not seen. */
  #isLate({ touched, sinceIndex }: Wait): boolean {
    return this.#options.state.changedSince(sinceIndex, touched) !== false
  }

  #open({ touched, query, sinceIndex }: Wait): WaitGroup {
    const group: WaitGroup = {
      touched,
      query,
      members: new Set(),
      unpark: () => {},
      timer: null,
      timerMs: Infinity,
    }
    group.unpark = this.#options.state.park(touched, sinceIndex, () => this.#wakeAll(group, true))
    this.#groups.set(touched, group)
    return group
  }

  #wakeAll(group: WaitGroup, changed: boolean): void {
    const members = [...group.members]
    group.members.clear()
    this.#wake(group, members, changed)
  }

  /** They are no members any more. */
  #wake(group: WaitGroup, woken: readonly Waiter[], changed: boolean): void {
    const end: WaitEnd = { changed, index: this.#options.state.appliedIndex }
    for (const waiter of woken) {
      waiter.group = null
      waiter.end = end
    }
    if (group.members.size === 0) this.#close(group)
    this.#queue.add(woken, group.query)
  }

  #close(group: WaitGroup): void {
    // It may be gone already, and another one be there for the same rows.
    if (this.#groups.get(group.touched) === group) this.#groups.delete(group.touched)
    group.unpark()
    group.timer?.cancel()
    group.timer = null
  }

  /** Sees to it that the timer fires at `atMs` or before. */
  #arm(group: WaitGroup, atMs: number): void {
    const { clock } = this.#options
    if (group.timer !== null && group.timerMs <= atMs) return
    group.timer?.cancel()
    group.timerMs = atMs
    const delayMs = Math.max(0, atMs - clock.monotonicMs())
    group.timer = clock.setTimer(delayMs, () => this.#endDue(group))
  }

  #endDue(group: WaitGroup): void {
    const nowMs = this.#options.clock.monotonicMs()
    const due: Waiter[] = []
    let nextMs = Infinity
    for (const waiter of group.members) {
      if (waiter.untilMs <= nowMs) due.push(waiter)
      else nextMs = Math.min(nextMs, waiter.untilMs)
    }
    for (const waiter of due) group.members.delete(waiter)
    group.timer = null
    this.#wake(group, due, false)
    if (group.members.size > 0) this.#arm(group, Math.max(nextMs, nowMs + deadlinesEveryMs))
  }
}

/** Processor time of this thread. It stands still while others have the processor. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}
