/**
 * A lock of one holder: a key that a session locks, marked as Consul's clients mark theirs, so that they contend for the same.
 * The key stays when it is free: a waiting client sees a release and nothing else, and its LockIndexes go up one by one.
 */
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Entries } from './entries.ts'
import type { Exclusion, Held, Loss } from './exclusion.ts'
import { followIndex, type ReadRetries } from './follow.ts'

/** Says of an entry that it is a lock, and not a semaphore's. */
export const mutexFlags = 3_304_740_253_564_472_344n
/** While a free key is held back: nothing tells when that is over. */
const heldBackMs = 500

export type MutexOptions = {
  readonly clock: Clock
  readonly entries: Entries
  readonly key: string
  readonly retries: ReadRetries
  /** Whether the session still lives; null: no server says. */
  readonly isAlive: (signal: AbortSignal) => Promise<boolean | null>
}

export class Mutex implements Exclusion {
  readonly isHeldBack = true
  readonly #options: MutexOptions

  constructor(options: MutexOptions) {
    this.#options = options
  }

  async acquire(session: string, signal: AbortSignal): Promise<Held> {
    const { clock, entries, key } = this.#options
    return followIndex(
      (after) => entries.read(key, signal, after),
      async (seen) => {
        let entry = seen.value
        // Free, as far as this read knows; or ours already, by an answer that was lost.
        while (entry === null || entry.session === '' || entry.session === session) {
          if (entry !== null && entry.flags !== mutexFlags) {
            throw new MusterError(
              'conflict',
              `the key ${JSON.stringify(key)} is in use, and not by such a lock: choose another prefix`,
            )
          }
          if (entry?.session === session) return { key, lockIndex: entry.lockIndex }
          const locked = await entries.lock(key, session, mutexFlags, signal)
          if (!locked) await delay(clock, heldBackMs, signal)
          entry = (await entries.read(key, signal)).value
        }
        return undefined
      },
      { clock, signal, retries: null },
    )
  }

  async lost(session: string, held: Held, signal: AbortSignal): Promise<Loss> {
    const { clock, entries, key, retries, isAlive } = this.#options
    return followIndex(
      (after) => entries.read(key, signal, after),
      async ({ value }) => {
        if (value?.session === session && value.lockIndex === held.lockIndex) return undefined
        if ((await isAlive(signal)) === false) {
          return { reason: 'its session was ended', isHeldBack: true }
        }
        if (value?.session === session) {
          return {
            reason: 'its lock has another LockIndex: the state was restored',
            isHeldBack: true,
          }
        }
        const what = value === null ? 'deleted' : 'released'
        return { reason: `its key was ${what} by someone else`, isHeldBack: false }
      },
      { clock, signal, retries },
    )
  }

  async release(session: string, { key }: Held, signal: AbortSignal): Promise<void> {
    await this.#options.entries.unlock(key, session, mutexFlags, signal)
  }
}
