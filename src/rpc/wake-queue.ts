/**
 * Those whose wait is over, on their way to their answers: a few in each turn of the event loop, so that heartbeats,
 * Raft and other requests go on between them. One from each line in turn, so that no line waits for a longer one.
 */
/**
 * Processor time that one turn of the event loop may take while many wake: when it took more, fewer wake in the next. Not
 * time by the clock: on a machine that is busy with others, to wake fewer would make no turn shorter.
 */
export const turnMsMax = 8
/** Woken in one turn at least, whatever turns take; at most; and in the first. */
const paceMin = 8
const paceMax = 512
const paceFirst = 32
/** More in each turn that was short enough. */
const paceStep = 8

/** Room for what wakers cause: while there is none, nobody is woken. */
export interface WakeRoom {
  readonly full: boolean
  /** Calls back once, when there is room again. */
  whenRoom(callback: () => void): void
}

/** `go` does at once what the end of a wait brings about; whoever has left meanwhile does nothing and says so. */
export type Wakeable = { go(): 'gone' | 'went' }

export class WakeQueue {
  readonly #threadMs: () => number
  readonly #room: WakeRoom | null
  /** Each line from its end: the first is the last of the array. */
  #lines: Wakeable[][] = []
  #at = 0
  #pace = paceFirst
  /** When the turn before began; null: there was none, or nobody waited since. */
  #turnMs: number | null = null
  #scheduled = false

  /** `threadMs`: of `lib/thread-time.ts`. */
  constructor(threadMs: () => number, room: WakeRoom | null) {
    this.#threadMs = threadMs
    this.#room = room
  }

  /** Lines that wait. */
  get lineCount(): number {
    return this.#lines.length
  }

  add(line: readonly Wakeable[]): void {
    if (line.length === 0) return
    this.#lines.push(line.toReversed())
    this.#schedule()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#turn()
    })
  }

  #turn(): void {
    if (this.#room?.full === true) {
      this.#turnMs = null
      this.#scheduled = true
      this.#room.whenRoom(() => {
        this.#scheduled = false
        this.#schedule()
      })
      return
    }
    this.#setPace()
    let left = this.#pace
    while (left > 0 && this.#lines.length > 0) {
      if (this.#at >= this.#lines.length) this.#at = 0
      const line = this.#lines[this.#at]
      const next = line?.pop()
      if (next === undefined) this.#lines.splice(this.#at, 1)
      else {
        this.#at += 1
        if (next.go() === 'went') left -= 1
      }
    }
    // One more turn after the last, which finds nothing and forgets the time.
    if (this.#turnMs !== null) this.#schedule()
  }

  /** A turn holds what those woken in it do, and all else: so a busy server wakes fewer. */
  #setPace(): void {
    const nowMs = this.#threadMs()
    if (this.#lines.length === 0) {
      this.#turnMs = null
      return
    }
    if (this.#turnMs !== null) {
      const tookMs = nowMs - this.#turnMs
      this.#pace =
        tookMs > turnMsMax
          ? Math.max(paceMin, this.#pace >> 1)
          : Math.min(paceMax, this.#pace + paceStep)
    }
    this.#turnMs = nowMs
  }
}
