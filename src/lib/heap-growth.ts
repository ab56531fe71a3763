/**
 * How far V8 lets the old part of its heap grow before it collects it: on its own to four times what lives, as `bin/muster` has it
 * to 1.8 times. Bounded further, a process takes less memory for more collections.
 */
import { setFlagsFromString } from 'node:v8'

/** Beyond what lives, in per cent of it. V8 adds the size of the young generation. `usual`: as in `bin/muster`. */
const growthPercent = { usual: 80, bounded: 15 }

/** From the next full collection on, for the whole process. */
function boundHeapGrowth(bounded: boolean): void {
  setFlagsFromString(
    `--heap-growing-percent=${bounded ? growthPercent.bounded : growthPercent.usual}`,
  )
}

/** Bounded for as long as anyone needs it to be. */
export class HeapGrowth {
  readonly #bound: (bounded: boolean) => void
  readonly #reasons = new Set<string>()

  constructor(bound = boundHeapGrowth) {
    this.#bound = bound
  }

  /** `reason`: of the caller alone. */
  boundFor(reason: string, bounded: boolean): void {
    const before = this.#reasons.size > 0
    if (bounded) this.#reasons.add(reason)
    else this.#reasons.delete(reason)
    const after = this.#reasons.size > 0
    if (before !== after) this.#bound(after)
  }
}
