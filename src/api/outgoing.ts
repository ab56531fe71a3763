/**
 * Bytes of answers that their clients have not taken, all together, and what happens when they are too many: no reader
 * that waits is woken, other answers but small ones are refused, and clients that take nothing are cut off sooner. A
 * body that many are sent counts once.
 */
import type { ServerResponse } from 'node:http'
import { MusterError } from '../lib/errors.ts'
import { dropStalled } from './streams.ts'

export type OutgoingLimits = {
  /** `limits.http_answer_bytes_max`. One answer more may be begun just below it. */
  readonly answerBytesMax: number
  /** A client that takes nothing for this long is dropped. */
  readonly stallMs: number
}

/** Answers up to this size go out in any case, so that a server that is full can be looked at. */
export const smallAnswerBytes = 4_096
/** The same as `stallMs`, while there is no room. */
export const pressedStallMs = 5_000

/** What is counted until it is given back, once. */
export type Held = { release(): void }

export class Outgoing {
  readonly #limits: OutgoingLimits
  readonly #unsent = new Set<ServerResponse>()
  #whenRoom: (() => void)[] = []
  #bytes = 0
  #refused = 0

  constructor(limits: OutgoingLimits) {
    this.#limits = limits
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Answers that were refused because there was no room for them. */
  get refusedCount(): number {
    return this.#refused
  }

  get full(): boolean {
    return this.#bytes >= this.#limits.answerBytesMax
  }

  /** Calls back once, when there is room; at once when there is. */
  whenRoom(callback: () => void): void {
    if (this.full) this.#whenRoom.push(callback)
    else callback()
  }

  /** Throws `overloaded` when there is no room for an answer of this size. */
  assertRoom(bytes: number): void {
    if (bytes <= smallAnswerBytes || !this.full) return
    this.#refused += 1
    throw new MusterError(
      'overloaded',
      `clients have not taken ${this.#limits.answerBytesMax} bytes of answers ` +
        '(limits.http_answer_bytes_max): try another server or later',
    )
  }

  hold(bytes: number): Held {
    const wasFull = this.full
    this.#bytes += bytes
    if (!wasFull && this.full) this.#press()
    let over = false
    return {
      release: () => {
        if (over) return
        over = true
        this.#bytes -= bytes
        if (!this.full) this.#tellRoom()
      },
    }
  }

  /** The client has not taken all of it: it is watched until it has. The caller tells when that is, or it is gone. */
  watch(response: ServerResponse): void {
    this.#unsent.add(response)
    dropStalled(response, this.full ? this.#pressedMs : this.#limits.stallMs)
  }

  unwatch(response: ServerResponse): void {
    this.#unsent.delete(response)
  }

  get #pressedMs(): number {
    return Math.min(this.#limits.stallMs, pressedStallMs)
  }

  #press(): void {
    for (const response of this.#unsent) response.setTimeout(this.#pressedMs)
  }

  #tellRoom(): void {
    const waiting = this.#whenRoom
    this.#whenRoom = []
    for (const callback of waiting) callback()
  }
}

/** One body for many answers: counted once, from when it is made until nobody needs it any more. */
export class SharedBytes {
  readonly bytes: Buffer
  readonly #held: Held
  #holders = 1

  constructor(outgoing: Outgoing, bytes: Buffer) {
    this.bytes = bytes
    this.#held = outgoing.hold(bytes.length)
  }

  /** Its maker holds it from the beginning. */
  hold(): Held {
    this.#holders += 1
    let over = false
    return {
      release: () => {
        if (!over) this.release()
        over = true
      },
    }
  }

  /** By its maker, once. */
  release(): void {
    this.#holders -= 1
    if (this.#holders === 0) this.#held.release()
  }
}
