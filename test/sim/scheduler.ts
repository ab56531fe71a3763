/**
 * The simulator runs the production Raft node (core, driver, durable log) in a world made of one thread, one seed
 * and one clock. Nothing here is imported by the program; everything here may look inside the program.
 *
 * This file is that clock: a queue of events by simulated time. Between two events every promise that can go on
 * does go on, so a run is a sequence of events and nothing else, and the same seed gives the same run.
 */
import { present } from '../../src/lib/assert.ts'
import type { Clock, Timer } from '../../src/lib/clock.ts'

type Event = {
  readonly atMs: number
  /** Events of the same moment happen in the order they were scheduled. */
  readonly sequence: number
  readonly life: Life | null
  run: (() => void) | null
}

/** Events that one turn of the real event loop runs at most. */
const eventsPerTurn = 32

/**
 * One run of one process, from its start to its crash. Its events are dropped once it is over,
 * so a promise that waits for one of them never goes on: nothing of an old life touches anything.
 */
export class Life {
  readonly server: string
  readonly number: number
  /** How this machine's clock differs from true time. */
  readonly clockRate: number
  readonly clockOffsetMs: number
  alive = true
  frozenUntilMs = 0
  /** The machine sleeps since then, and its monotonic clock stands still; null: it does not. */
  suspendedFromMs: number | null = null
  /** True time that its monotonic clock has missed. */
  missedMs = 0
  /** What would have happened while frozen, in order. */
  readonly deferred: (() => void)[] = []

  constructor(options: { server: string; number: number; rate: number; offsetMs: number }) {
    this.server = options.server
    this.number = options.number
    this.clockRate = options.rate
    this.clockOffsetMs = options.offsetMs
  }
}

export class Scheduler {
  #heap: Event[] = []
  #sequence = 0
  #stop = false
  nowMs = 0
  eventCount = 0
  /** Called after each event, once all promises it moved have settled. */
  afterEvent: (life: Life | null) => void = () => undefined

  /** Runs once after `delayMs` of true time; not at all when `life` is over by then. */
  after(delayMs: number, run: () => void, life: Life | null = null): Timer {
    const event: Event = {
      atMs: this.nowMs + Math.max(0, delayMs),
      sequence: (this.#sequence += 1),
      life,
      run,
    }
    this.#push(event)
    return {
      cancel() {
        event.run = null
      },
    }
  }

  /** Resolves after `delayMs` of true time; never when `life` is over by then. */
  sleep(delayMs: number, life: Life | null = null): Promise<void> {
    return new Promise((resolve) => this.after(delayMs, resolve, life))
  }

  /** Now, or as soon as `life` is no longer frozen, or never. */
  enter(life: Life, run: () => void): void {
    if (!life.alive) return
    if (life.frozenUntilMs > this.nowMs) life.deferred.push(run)
    else run()
  }

  /** The process stands still while time goes on; then what it missed happens at once, in order. */
  freeze(life: Life, forMs: number): void {
    const until = this.nowMs + forMs
    if (until <= life.frozenUntilMs) return
    life.frozenUntilMs = until
    this.after(forMs, () => this.#thaw(life))
  }

  /** As `freeze`, and the monotonic clock stands still as well. */
  suspend(life: Life, forMs: number): void {
    if (life.frozenUntilMs > this.nowMs) return
    life.suspendedFromMs = this.nowMs
    this.freeze(life, forMs)
  }

  /** The time since boot as one process sees it: it goes on while the machine is suspended. */
  bootMsOf(life: Life): number {
    return life.clockOffsetMs + this.nowMs * life.clockRate
  }

  /** The clock as one process sees it. */
  clockOf(life: Life): Clock {
    return {
      monotonicMs: () => {
        const awakeMs = (life.suspendedFromMs ?? this.nowMs) - life.missedMs
        return life.clockOffsetMs + awakeMs * life.clockRate
      },
      wallMs: () => 1_700_000_000_000 + Math.floor(this.bootMsOf(life)),
      setTimer: (delayMs, run) => this.after(delayMs / life.clockRate, run, life),
    }
  }

  stop(): void {
    this.#stop = true
  }

  /** Runs events up to `untilMs`, or until `stop`. Rejects when an event throws. */
  run(untilMs: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let finished = false
      let last: Life | null = null
      let ran = false
      const step = () => {
        if (finished) return
        try {
          // Here, for by now the promises of the event before have gone as far as they can.
          if (ran) this.afterEvent(last)
          const event = this.#stop ? undefined : this.#next(untilMs)
          if (event === undefined) {
            finished = true
            if (!this.#stop) this.nowMs = Math.max(this.nowMs, untilMs)
            resolve()
            return
          }
          last = event.life
          ran = true
          this.#perform(event)
        } catch (error) {
          finished = true
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      }
      // Node settles all promises between two immediates of one turn as well, and a turn costs more than an event.
      const turn = () => {
        if (finished) return
        for (let i = 0; i < eventsPerTurn; i += 1) setImmediate(step)
        setImmediate(turn)
      }
      turn()
    })
  }

  #next(untilMs: number): Event | undefined {
    for (;;) {
      const first = this.#heap[0]
      if (first === undefined || first.atMs > untilMs) return undefined
      this.#pop()
      if (first.run !== null && (first.life === null || first.life.alive)) return first
    }
  }

  #perform(event: Event): void {
    this.nowMs = event.atMs
    this.eventCount += 1
    const run = present(event.run, 'the event')
    if (event.life === null) run()
    else this.enter(event.life, () => event.run?.())
  }

  #thaw(life: Life): void {
    if (!life.alive || life.frozenUntilMs > this.nowMs) return
    if (life.suspendedFromMs !== null) life.missedMs += this.nowMs - life.suspendedFromMs
    life.suspendedFromMs = null
    for (const run of life.deferred.splice(0)) this.after(0, run, life)
  }

  #push(event: Event): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      const above = present(heap[parent], 'the parent')
      if (!isBefore(event, above)) break
      heap[at] = above
      at = parent
    }
    heap[at] = event
  }

  #pop(): void {
    const heap = this.#heap
    const last = present(heap.pop(), 'the last event')
    const size = heap.length
    if (size === 0) return
    let at = 0
    for (;;) {
      let child = at * 2 + 1
      if (child >= size) break
      const right = child + 1
      if (right < size && isBefore(present(heap[right], 'right'), present(heap[child], 'left'))) {
        child = right
      }
      const below = present(heap[child], 'the child')
      if (!isBefore(below, last)) break
      heap[at] = below
      at = child
    }
    heap[at] = last
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.sequence < b.sequence)
}
