/**
 * How many bytes all request bodies together may hold in memory, from their first piece until their request is over. Bodies
 * of up to 64 KiB find a part of it that larger ones cannot take, so that a flood of uploads stops no small request.
 */
import { smallBodyBytesMax } from './route.ts'

/** Of the whole, for large bodies; the rest is for small ones alone. */
const largePart = 3 / 4

/** What one body holds. */
export type BodyShare = { bytes: number; large: boolean }

export class BodyBudget {
  readonly #bytesMax: number
  #used = 0
  #usedByLarge = 0
  /** Bodies that found no room. */
  refusedCount = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes that are held. */
  get used(): number {
    return this.#used
  }

  /** False: there is no room, and nothing has changed. */
  grow(share: BodyShare, bytes: number): boolean {
    const large = share.large || share.bytes + bytes > smallBodyBytesMax
    // A body that becomes a large one brings along what it holds.
    const more = large && !share.large ? share.bytes + bytes : bytes
    if (this.#used + bytes > this.#bytesMax) return false
    if (large && this.#usedByLarge + more > this.#bytesMax * largePart) return false
    this.#used += bytes
    if (large) this.#usedByLarge += more
    share.bytes += bytes
    share.large = large
    return true
  }

  /** All that it holds; once more does nothing. */
  release(share: BodyShare): void {
    this.#used -= share.bytes
    if (share.large) this.#usedByLarge -= share.bytes
    share.bytes = 0
    share.large = false
  }
}

/** The least that a budget may be for bodies of that size: room for one of them. */
export function budgetBytesMin(bodyBytesMax: number): number {
  return Math.ceil(bodyBytesMax / largePart)
}
