/** Consistency, `index` and `wait` of a request, as `rpc/read.ts` takes them. */
import { parseDurationMs } from '../lib/duration.ts'
import { MusterError } from '../lib/errors.ts'
import type { Random } from '../lib/random.ts'
import { parseUnsigned } from '../lib/unsigned.ts'
import type { Consistency, ReadOptions } from '../rpc/method.ts'
import type { Search } from './search.ts'

/** When `wait` is missing, zero or negative; also the longest wait of a route that names none. */
export const waitMsDefault = 300_000

/** A random extra of up to this part of the wait, so that readers who came together do not leave together. */
const jitterPart = 1 / 16

export const plainRead: ReadOptions = { consistency: 'default', minIndex: 0, waitMs: 0 }

export type BlockingRules = {
  readonly waitMsMax: number
  /** A switch counts by its presence alone. */
  readonly byPresence: boolean
  readonly random: Random
}

/** 400 for a bad `index` or `wait`, also when the other is missing, and for `stale` with `consistent`. */
export function readOptions(search: Search, rules: BlockingRules): ReadOptions {
  if (search.empty) return plainRead
  const consistency = consistencyOf(search, rules.byPresence)
  const minIndex = indexOf(search)
  const waitMs = waitOf(search, rules.waitMsMax)
  if (minIndex === 0) return { consistency, minIndex, waitMs: 0 }
  return { consistency, minIndex, waitMs: waitMs + rules.random.next() * waitMs * jitterPart }
}

function consistencyOf(search: Search, byPresence: boolean): Consistency {
  const on = (name: string) => (byPresence ? search.has(name) : search.flag(name))
  const consistent = on('consistent')
  const stale = on('stale') || (search.durationMs('max_stale') ?? 0) > 0
  if (stale && consistent) {
    throw new MusterError('invalid_argument', 'stale and consistent exclude each other')
  }
  return stale ? 'stale' : consistent ? 'consistent' : 'default'
}

function indexOf(search: Search): number {
  const text = search.text('index')
  if (text === null || text === '') return 0
  const value = parseUnsigned(text)
  if (value === undefined) throw new MusterError('invalid_argument', 'Invalid index')
  // An index that no log reaches waits like any other from the future.
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : value)
}

/** How long a request that waits does so at most; 400 for a bad `wait`. */
export function waitOf(search: Search, waitMsMax: number): number {
  const text = search.text('wait')
  if (text === null || text === '') return Math.min(waitMsDefault, waitMsMax)
  const value = parseDurationMs(text)
  if (value === undefined) throw new MusterError('invalid_argument', 'Invalid wait time')
  return Math.min(value <= 0 ? waitMsDefault : value, waitMsMax)
}
