/** What is remembered of one store, beside it: told of every batch before the state that follows it is read. */
import { KeySets, type KeySetLimits } from './key-sets.ts'
import { RowCache, rowCacheBytes, type Written } from './row-cache.ts'

export class Caches {
  readonly rows: RowCache
  readonly keySets: KeySets

  /** `rowBytesMax`: as `RowCache` counts them. */
  constructor(keySetLimits?: KeySetLimits, rowBytesMax = rowCacheBytes) {
    this.rows = new RowCache(rowBytesMax)
    this.keySets = new KeySets(keySetLimits)
  }

  /** The newest state has this batch, stands at `appliedIndex` and is of the generation of `front`. */
  changed(batch: Written, front: string, appliedIndex: number): void {
    this.rows.changed(batch, appliedIndex)
    this.keySets.changed(batch.rows, front, appliedIndex)
  }
}
