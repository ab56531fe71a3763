/**
 * Very many deadlines on one timer. Time is cut into slices; a deadline is in the list of the first slice that begins
 * after it, and the list is taken when that slice begins. So to arm, to move and to cancel take the same few steps however many
 * deadlines there are, and there is nothing to sort: only slices with deadlines in them exist.
 *
 * A deadline fires after its time, and at most one slice after it. At most `batchMax` fire in one turn of the event loop;
 * where more are due, the others follow in the next turns. Of deadlines of one slice none is promised to be before another.
 */
import type { Clock, Timer } from './clock.ts'

export type DeadlineWheelOptions<Item> = {
  readonly clock: Clock
  /** How late a deadline may fire, and how often the timer does while there are any. */
  readonly sliceMs: number
  /** Items with the same key are one: the last that was armed. */
  readonly keyOf: (item: Item) => string
  /** Items that are delivered together. */
  readonly batchMax: number
  /** They are not armed any more; this may arm them again. It must not throw. */
  readonly onDue: (items: readonly Item[]) => void
}

/** A link in the list of its slice; the first has no `previous`. */
type Deadline<Item> = {
  item: Item
  slice: number
  previous: Deadline<Item> | null
  next: Deadline<Item> | null
}

export class DeadlineWheel<Item> {
  readonly #options: DeadlineWheelOptions<Item>
  readonly #byKey = new Map<string, Deadline<Item>>()
  /** By number, the first of each slice's list. */
  readonly #slices = new Map<number, Deadline<Item>>()
  /** All slices before this one were taken. */
  #next: number
  #timer: Timer | null = null
  #state: 'idle' | 'running' | 'stopped' = 'idle'
  #steps = 0

  constructor(options: DeadlineWheelOptions<Item>) {
    this.#options = options
    this.#next = this.#now() + 1
  }

  get size(): number {
    return this.#byKey.size
  }

  /** Links that were set and slices that were looked at, since the beginning. */
  get steps(): number {
    return this.#steps
  }

  /** Nothing fires before. */
  start(): void {
    if (this.#state === 'idle') this.#state = 'running'
    this.#wait()
  }

  /** Cancels all, for good. */
  stop(): void {
    this.#state = 'stopped'
    this.#timer?.cancel()
    this.#timer = null
    this.#byKey.clear()
    this.#slices.clear()
  }

  /** Arms the item, or moves it. `dueMs` is monotonic; one that is over already fires when the next slice begins. */
  arm(item: Item, dueMs: number): void {
    if (this.#state === 'stopped') return
    const key = this.#options.keyOf(item)
    const now = this.#now()
    const slice = Math.max(this.#sliceOf(dueMs), now) + 1
    // The timer stood still: there is nothing in the slices since.
    if (this.#byKey.size === 0) this.#next = now + 1
    let deadline = this.#byKey.get(key)
    if (deadline === undefined) {
      deadline = { item, slice, previous: null, next: null }
      this.#byKey.set(key, deadline)
      this.#link(deadline)
    } else {
      deadline.item = item
      if (deadline.slice === slice) return
      this.#unlink(deadline)
      deadline.slice = slice
      this.#link(deadline)
    }
    this.#wait()
  }

  /** Whether it was armed. What was delivered is not. */
  cancel(key: string): boolean {
    const deadline = this.#byKey.get(key)
    if (deadline === undefined) return false
    this.#byKey.delete(key)
    this.#unlink(deadline)
    return true
  }

  #link(deadline: Deadline<Item>): void {
    this.#steps += 1
    const first = this.#slices.get(deadline.slice) ?? null
    deadline.previous = null
    deadline.next = first
    if (first !== null) first.previous = deadline
    this.#slices.set(deadline.slice, deadline)
  }

  #unlink({ slice, previous, next }: Deadline<Item>): void {
    this.#steps += 1
    if (next !== null) next.previous = previous
    if (previous !== null) previous.next = next
    else if (next !== null) this.#slices.set(slice, next)
    else this.#slices.delete(slice)
  }

  #wait(): void {
    if (this.#timer !== null || this.#state !== 'running' || this.#byKey.size === 0) return
    const { clock, sliceMs } = this.#options
    const hasLeftovers = this.#next <= this.#now()
    const waitMs = hasLeftovers ? 0 : this.#next * sliceMs - clock.monotonicMs()
    this.#timer = clock.setTimer(waitMs, () => {
      this.#timer = null
      this.#turn()
      this.#wait()
    })
  }

  /** Delivers one batch of what is due. */
  #turn(): void {
    const { batchMax, keyOf, onDue } = this.#options
    const last = this.#now()
    const due: Item[] = []
    for (let step = 0; step < batchMax && this.#next <= last; step += 1) {
      const deadline = this.#slices.get(this.#next)
      if (deadline === undefined) {
        this.#steps += 1
        this.#next += 1
        continue
      }
      this.#byKey.delete(keyOf(deadline.item))
      this.#unlink(deadline)
      due.push(deadline.item)
    }
    if (due.length > 0) onDue(due)
  }

  #now(): number {
    return this.#sliceOf(this.#options.clock.monotonicMs())
  }

  #sliceOf(atMs: number): number {
    return Math.floor(atMs / this.#options.sliceMs)
  }
}
