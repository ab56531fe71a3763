/**
 * Gaps in the indexes of one state: from a prefix with nothing below it up to the next key. A scan of each empty prefix would step
 * anew over all rows that were deleted behind it; one look at the next key tells of all prefixes in the gap.
 */
import type { Key, Reader, Table } from './domain.ts'
import { compareEncoded, encodeKey } from './keys.ts'

/** Looks at an index that found no gap for another prefix. Where rows lie between most prefixes, a scan of each is as good. */
const looksMax = 4

type Known = {
  /** `next` is null at the end of the index. */
  readonly gaps: { readonly from: string; readonly next: string | null }[]
  looksLeft: number
}

export class IndexGaps {
  readonly #reader: Reader
  readonly #known = new Map<string, Known>()

  /** The reader stays with one state. */
  constructor(reader: Reader) {
    this.#reader = reader
  }

  /** True: no key of the index begins with the prefix. False: nothing is known. The first question about an index is free of looks. */
  async isEmpty(table: Table<never>, index: string, prefix: Key): Promise<boolean> {
    const id = `${table.name}\0${index}`
    const known = this.#known.get(id)
    if (known === undefined) {
      this.#known.set(id, { gaps: [], looksLeft: looksMax })
      return false
    }
    const from = encodeKey(prefix)
    const isInside = known.gaps.some(
      (gap) => compareEncoded(gap.from, from) <= 0 && endsBefore(from, gap.next),
    )
    if (isInside) {
      known.looksLeft = Math.min(looksMax, known.looksLeft + 1)
      return true
    }
    if (known.looksLeft === 0) return false
    known.looksLeft -= 1
    const next = await this.#reader.nextBy(table, index, prefix)
    if (!endsBefore(from, next)) return false
    known.gaps.push({ from, next })
    return true
  }
}

/** All that begins with `prefix` comes before `next`. */
function endsBefore(prefix: string, next: string | null): boolean {
  return next === null || (compareEncoded(prefix, next) < 0 && !next.startsWith(prefix))
}
