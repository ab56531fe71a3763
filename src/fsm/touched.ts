/**
 * What a view has read, for watches to park it on.
 */
import { assert } from '../lib/assert.ts'

/** Keys one reader remembers singly; beyond it, whole tables. */
export const touchedKeysMax = 1024

/** Keys and prefixes of keys that a view has read, without generation. Only this folder looks inside. */
export class Touched {
  readonly keys = new Set<string>()
  readonly prefixes = new Set<string>()

  /** `tablePrefix` stands for the key when there are too many. */
  addKey(key: string, tablePrefix: string): void {
    if (this.keys.size < touchedKeysMax) this.keys.add(key)
    else if (!this.keys.has(key)) this.prefixes.add(tablePrefix)
  }

  addPrefix(prefix: string): void {
    this.prefixes.add(prefix)
  }

  /** What another view has read: as many keys as that remembered, beyond the bound of one. */
  addAll({ keys, prefixes }: Touched): void {
    for (const key of keys) this.keys.add(key)
    for (const prefix of prefixes) this.prefixes.add(prefix)
  }
}

/** For callers to whom it is opaque. */
export function asTouched(touched: object): Touched {
  assert(touched instanceof Touched, 'what a view touched comes from `view.touched()`')
  return touched
}
