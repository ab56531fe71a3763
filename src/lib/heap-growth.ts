/**
 * How far V8 lets the old part of its heap grow before it collects it: of itself to four times what lives. Bounded, a process
 * takes less memory for more collections.
 */
import { setFlagsFromString } from 'node:v8'

/** Beyond what lives, in per cent of it. V8 adds the size of the young generation. */
const usualPercent = 100
/** While very many requests wait, which are old garbage once they are answered. */
const crowdedPercent = 15

/** From the next full collection on, for the whole process. */
export function boundHeapGrowth(crowded: boolean): void {
  setFlagsFromString(`--heap-growing-percent=${crowded ? crowdedPercent : usualPercent}`)
}
