/**
 * Those whose wait is over, on their way to their answers: a few in each turn of the event loop, so that heartbeats,
 * Raft and other requests go on between them. One from each line in turn, so that no line waits for a longer one; those that wait
 * for the same are one line, in the order in which they were woken, so that none is overtaken by others that wait again.
 */
/**
 * Processor time that one turn of the event loop may take while many wake: when it took more, fewer wake in the next. Not
 * time by the clock: on a machine that is busy with others, to wake fewer would make no turn shorter.
 */
export const turnMsMax = 1
/** Woken in one turn at least, whatever turns take; at most; and in the first. */
const paceMin = 4
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

/** `go` does at once what the end of a wait brings about; a waiter that has left meanwhile does nothing and says so. */
export type Wakeable = { go(): 'gone' | 'went' }

type Line = {
  readonly about: object
  /** Oldest first, none of them empty; each from its end: the first to go is the last of its array. */
  readonly parts: Wakeable[][]
}

export class WakeQueue {
  readonly #threadMs: () => number
  readonly #room: WakeRoom | null
  readonly #lines: Line[] = []
  readonly #lineOf = new Map<object, Line>()
  #at = 0
  #pace = paceFirst
  /** When the turn before began; null: there was none, or nobody waited since. */
  #turnMs: number | null = null
  #scheduled = false

  /** Processor time of this thread. */
  constructor(threadMs: () => number, room: WakeRoom | null) {
    this.#threadMs = threadMs
    this.#room = room
  }

  /** Lines that wait. */
  get lineCount(): number {
    return this.#lines.length
  }

  /** At the end of the line of those that wait for the same. */
  add(woken: readonly Wakeable[], about: object): void {
    if (woken.length === 0) return
    let line = this.#lineOf.get(about)
    if (line === undefined) {
      line = { about, parts: [] }
      this.#lineOf.set(about, line)
      this.#lines.push(line)
    }
    line.parts.push(woken.toReversed())
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
      const part = line?.parts[0]
      const next = part?.pop()
      if (part?.length === 0) line?.parts.shift()
      if (line?.parts.length === 0) this.#end(line)
      else this.#at += 1
      if (next?.go() === 'went') left -= 1
    }
    // One more turn after the last, which finds nothing and forgets the time.
    if (this.#turnMs !== null) this.#schedule()
  }

  #end({ about }: Line): void {
    this.#lines.splice(this.#at, 1)
    this.#lineOf.delete(about)
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
