/**
 * Has LevelDB compact what was emptied, so that a scan does not step over rows that are gone until LevelDB comes to it by
 * itself. Local: each server does it for its own store. Bounded: one at a time, with a pause, and so many bytes in each;
 * where few rows went among many that stay, it is left to LevelDB.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { EmptiedRange } from './emptied-ranges.ts'
import { assertDiskSpace } from './disk-space.ts'
import type { Store } from './store.ts'

/** From when rows were deleted, or from the end of the last compaction, to the next. */
export const compactionPauseMs = 2_000
/** Of table files that are rewritten at a time. */
const compactionBytesMax = 32 * 1024 * 1024
/** Apart from one another: for each of them LevelDB begins two new memory tables. */
const compactionsMax = 8
/** A range with more bytes holds too much besides what was deleted, or long values, which LevelDB compacts soon. */
const rangeBytesMax = 4 * 1024 * 1024

export type CompactionOptions = {
  /** Asked anew each time: it may be replaced. */
  readonly store: () => Store
  readonly clock: Clock
  readonly logger: Logger
}

export class Compaction {
  readonly #options: CompactionOptions
  #timer: Timer | null = null
  #running: Promise<void> | null = null
  #stopped = false

  constructor(options: CompactionOptions) {
    this.#options = options
  }

  /** Many rows were deleted. */
  request(): void {
    if (this.#stopped || this.#timer !== null || this.#running !== null) return
    this.#timer = this.#options.clock.setTimer(compactionPauseMs, () => {
      this.#timer = null
      this.#running = this.#run().finally(() => {
        this.#running = null
        if (this.#options.store().emptied.due) this.request()
      })
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    this.#timer = null
    await this.#running
  }

  async #run(): Promise<void> {
    const { store: current, logger } = this.#options
    const store = current()
    try {
      for (const { first, last } of await worthwhile(store, store.emptied.take())) {
        if (this.#stopped) return
        await assertDiskSpace(store.folder, 2 * compactionBytesMax)
        await store.compact(first, last)
      }
    } catch (error) {
      // A store that was replaced meanwhile took its rows along; one that failed is seen to by the next write.
      if (store === current()) {
        logger.warn('could not compact what was deleted from the state', { error: textOf(error) })
      }
    }
  }
}

/** Those that hold little besides, joined where one begins where another ends. */
async function worthwhile(
  store: Store,
  ranges: readonly EmptiedRange[],
): Promise<readonly EmptiedRange[]> {
  const joined: EmptiedRange[] = []
  let bytes = 0
  for (const range of ranges) {
    const own = await store.bytesBetween(range.first, range.last)
    if (own > rangeBytesMax || bytes + own > compactionBytesMax) continue
    bytes += own
    const before = joined.at(-1)
    if (before?.last === range.first) joined.splice(-1, 1, { ...before, last: range.last })
    else joined.push(range)
  }
  return joined.slice(0, compactionsMax)
}
