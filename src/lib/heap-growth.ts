/**
 * How far V8 lets the old part of its heap grow before it collects it: by default to four times what lives. Bounded, a process
 * takes less memory for more collections.
 */
import { setFlagsFromString } from 'node:v8'

/** Beyond what lives, in per cent of it. V8 adds the size of the young generation. */
const growthPercent = 15

/** From the next full collection on, for the whole process. */
export function boundHeapGrowth(bounded: boolean): void {
  // 0: as V8 sees fit.
  setFlagsFromString(`--heap-growing-percent=${bounded ? growthPercent : 0}`)
}
