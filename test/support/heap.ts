/** What this process holds in memory once all that is garbage is gone. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

/** A whole collection, at once. */
export function collectGarbage(): void {
  if (typeof collect !== 'function') throw new Error('this Node does not expose its collector')
  collect()
}

export function heapBytes(): number {
  collectGarbage()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
