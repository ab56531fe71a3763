/** What memory a server may take, and how much of it each of its caches has. */
import { totalmem } from 'node:os'
import Type from 'typebox'
import { sizeOr } from './config-values.ts'

const MiB = 2 ** 20

/** All that a server is made for; a start alone takes a third of it. */
const usualBytes = 256 * MiB
/** Below it a server would be at its limit with an empty state. */
const targetBytesMin = 96 * MiB
/** Of a small machine, that others use too. */
const machineShare = 1 / 8

/** Of the target. With the usual one: 16 MiB of rows, of LevelDB's blocks, and of events. */
const cacheShare = 1 / 16
/** A cache much larger than what is asked for again and again is of no use. */
const cacheBytesMax = 512 * MiB

export const memoryKeys = {
  memory_target: Type.Optional(
    sizeOr('auto', targetBytesMin, 1024 * 1024 * MiB, '96MiB to 1024GiB', {
      shown: '`"auto"`: 256 MiB, or an eighth of a small machine’s memory',
      about:
        'memory that this server is to get by with: [Memory](health-and-metrics.md#memory). It is no limit',
    }),
  ),
}

/** In bytes. */
export type MemoryConfig = {
  readonly targetBytes: number
  /** Rows read or written lately. */
  readonly rowCacheBytes: number
  /** Blocks of LevelDB's files. */
  readonly blockCacheBytes: number
  /** Changes kept for readers of events, unless `limits.event_bytes_kept_max` says otherwise. */
  readonly eventBytes: number
}

const memory = Type.Object(memoryKeys)

export function completeMemory(
  file: Type.StaticDecode<typeof memory>,
  machineBytes = machineMemoryBytes(),
): MemoryConfig {
  const { memory_target: given = 'auto' } = file
  const targetBytes = given === 'auto' ? automatic(machineBytes) : given
  const cacheBytes = Math.min(cacheBytesMax, Math.floor(targetBytes * cacheShare))
  return {
    targetBytes,
    rowCacheBytes: cacheBytes,
    blockCacheBytes: cacheBytes,
    eventBytes: cacheBytes,
  }
}

function automatic(machineBytes: number): number {
  const share = Math.floor(machineBytes * machineShare)
  return Math.max(targetBytesMin, Math.min(usualBytes, share))
}

/** What the control group allows, where that is less than the machine has. */
function machineMemoryBytes(): number {
  const allowed = process.constrainedMemory()
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem()
}
