/**
 * How far V8 lets the old part of its heap grow before it collects it: on its own to four times what lives, as `bin/muster` has it
 * to 1.8 times. Bounded further, a process takes less memory for more collections.
 */
import { setFlagsFromString } from 'node:v8'

/** Beyond what lives, in per cent of it. V8 adds the size of the young generation. `usual`: as in `bin/muster`. */
const growthPercent = { usual: 80, bounded: 15 }

/** From the next full collection on, for the whole process. */
export function boundHeapGrowth(bounded: boolean): void {
  setFlagsFromString(
    `--heap-growing-percent=${bounded ? growthPercent.bounded : growthPercent.usual}`,
  )
}
