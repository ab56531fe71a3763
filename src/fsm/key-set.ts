/** The keys of one table or index, in order. */
import { firstWhere } from '../lib/binary-search.ts'
import { compareEncoded, isIndexKey } from './keys.ts'

export type KnownKey = {
  /** Generation in front. */
  readonly full: string
  /** Where the row's own key begins in it, without its table's prefix. */
  readonly primaryAt: number
}

/** Without these the order of code points is that of code units, which the engine compares many times as fast. */
const highUnit = /[\ud800-\uffff]/

/** What a key takes besides its characters. */
const keyBytes = 64

export class KeySet {
  readonly #base: string
  readonly #keys: KnownKey[]
  #bytes = 0
  #since: number
  /** No key has, or had, a high unit. */
  #isPlain: boolean

  /** `base`: what all keys begin with, generation in front. `keys`: in order, those of a state at `since`. */
  constructor(base: string, keys: KnownKey[], since: number) {
    this.#base = base
    this.#keys = keys
    this.#since = since
    for (const { full } of keys) this.#bytes += keyBytes + full.length
    this.#isPlain = !keys.some(({ full }) => highUnit.test(full))
  }

  get length(): number {
    return this.#keys.length
  }

  get bytes(): number {
    return this.#bytes
  }

  /** From which applied index on all states have these keys. */
  get since(): number {
    return this.#since
  }

  /** Those that begin with `prefix`, from `from` on, which is not below it; null: more than `keysMax`. */
  between(prefix: string, from: string, keysMax: number): readonly KnownKey[] | null {
    const found: KnownKey[] = []
    for (let at = this.#placeOf(from); at < this.#keys.length; at += 1) {
      const key = this.#keys[at]
      if (key?.full.startsWith(prefix) !== true) break
      if (found.length === keysMax) return null
      found.push(key)
    }
    return found
  }

  /** `value` null: there is no such key any more, in the state at `appliedIndex`. */
  change(full: string, value: Uint8Array | null, appliedIndex: number): void {
    const at = this.#placeOf(full)
    const isThere = this.#keys[at]?.full === full
    if (isThere === (value !== null)) return
    if (value === null) this.#keys.splice(at, 1)
    else this.#keys.splice(at, 0, knownKey(full, this.#base, value))
    this.#bytes += (value === null ? -1 : 1) * (keyBytes + full.length)
    this.#since = appliedIndex
    if (value !== null && highUnit.test(full)) this.#isPlain = false
  }

  /** Of the first key that is not below `full`. */
  #placeOf(full: string): number {
    const isNotBelow =
      this.#isPlain && !highUnit.test(full)
        ? (key: string) => key >= full
        : (key: string) => compareEncoded(key, full) >= 0
    return firstWhere(0, this.#keys.length, (at) => isNotBelow(this.#keys[at]?.full ?? full))
  }
}

/** `base`: as of `KeySet`. `value`: of an index entry it is the row's own key. */
export function knownKey(full: string, base: string, value: Uint8Array): KnownKey {
  if (!isIndexKey(full)) return { full, primaryAt: base.length }
  const primary = Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString()
  return { full, primaryAt: full.length - primary.length }
}
