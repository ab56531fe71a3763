/** What is remembered of one store, beside it: told of every batch before the state that follows it is read. */
import { KeySets, type KeySetLimits } from './key-sets.ts'
import { RowCache, type Written } from './row-cache.ts'

export class Caches {
  readonly rows = new RowCache()
  readonly keySets: KeySets

  constructor(limits?: KeySetLimits) {
    this.keySets = new KeySets(limits)
  }

  /** The newest state has this batch, stands at `appliedIndex` and is of the generation of `front`. */
  changed(batch: Written, front: string, appliedIndex: number): void {
    this.rows.changed(batch, appliedIndex)
    this.keySets.changed(batch.rows, front, appliedIndex)
  }
}
