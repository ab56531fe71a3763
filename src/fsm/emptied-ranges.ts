/**
 * Where a store was emptied: deleted keys, by a sample of them. LevelDB keeps a deleted row and the mark of its deletion until
 * it compacts the files that they are in, and a scan steps over both. Costs a write one number for each deleted row.
 */
import { compareEncoded } from './keys.ts'

/** One key of so many is kept at first; of twice as many each time that `sampleMax` are there. */
export const sampledEvery = 32
export const sampleMax = 4_096
/** Fewer deleted rows than this cost a scan less than a millisecond. */
export const emptiedRowsMin = 4_096
/** Keys of the sample between the ends of one range. */
const rangeSamples = 16

/** Both ends are in it. */
export type EmptiedRange = { readonly first: string; readonly last: string }

export class EmptiedRanges {
  #sample: string[] = []
  #every = sampledEvery
  #sinceSample = 0
  #count = 0

  /** So many rows were deleted that it is worth a compaction. */
  get due(): boolean {
    return this.#count >= emptiedRowsMin
  }

  note(key: string): void {
    this.#count += 1
    if (this.#sinceSample === 0) {
      this.#sample.push(key)
      if (this.#sample.length >= sampleMax) this.#thin()
    }
    this.#sinceSample = (this.#sinceSample + 1) % this.#every
  }

  /** In key order, each beginning where the one before ends; about as many rows were deleted in one as in another. Forgets them. */
  take(): readonly EmptiedRange[] {
    const keys = this.#sample.sort(compareEncoded)
    this.#sample = []
    this.#every = sampledEvery
    this.#sinceSample = 0
    this.#count = 0
    const ranges: EmptiedRange[] = []
    for (let at = 0; at + 1 < keys.length; at += rangeSamples) {
      const first = keys[at]
      const last = keys[Math.min(at + rangeSamples, keys.length - 1)]
      if (first !== undefined && last !== undefined) ranges.push({ first, last })
    }
    return ranges
  }

  #thin(): void {
    this.#sample = this.#sample.filter((_, at) => at % 2 === 0)
    this.#every *= 2
  }
}
