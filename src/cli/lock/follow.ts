/** Reading the same thing again whenever it changes, over failures of servers. */
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { mayPass } from '../api/servers.ts'
import type { Seen } from './entries.ts'

const pauseMs = 1_000

/** How many reads may fail in a row, each a second after the one before; null: as many as will. */
export type ReadRetries = number | null

export type FollowOptions = {
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly retries: ReadRetries
}

/**
 * Reads until `judge` says something other than undefined. `after` is the index of the last read, undefined to read at once;
 * an index that went back is none to wait on. Throws the failure when too many came in a row, and when the signal fires.
 */
export async function followIndex<Value, Verdict>(
  read: (after: string | undefined) => Promise<Seen<Value>>,
  judge: (seen: Seen<Value>) => Verdict | undefined | Promise<Verdict | undefined>,
  { clock, signal, retries }: FollowOptions,
): Promise<Verdict> {
  let after: string | undefined
  let failures = 0
  for (;;) {
    try {
      signal.throwIfAborted()
      const seen = await read(after)
      failures = 0
      const verdict = await judge(seen)
      if (verdict !== undefined) return verdict
      after = after !== undefined && BigInt(seen.index) < BigInt(after) ? undefined : seen.index
    } catch (error) {
      if (signal.aborted || !mayPass(error)) throw error
      failures += 1
      if (retries !== null && failures > retries) throw error
      after = undefined
      await delay(clock, pauseMs, signal)
    }
  }
}
