/**
 * What is damaged in the files of a state: it tells of what reads meet, and checks the table files that were there when the store was
 * opened, once, in the background. Later ones are this process's own. It takes so many bytes in a second, and rests longer where a
 * piece took long: the disk or the process has much to do then.
 */
import { join } from 'node:path'
import { delay } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { fullTextOf, MusterError, systemCodeOf, textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Store } from './store.ts'
import { damageOfTable } from './table-file.ts'

const bytesPerMs = (32 * 1024 * 1024) / 1_000
/** How much longer than a piece took the rest after it is at least. */
const restFactor = 3

export type TableCheckOptions = {
  readonly store: Store
  readonly clock: Clock
  readonly logger: Logger
}

export class TableCheck {
  readonly #options: TableCheckOptions
  readonly #stop = new AbortController()
  #running: Promise<void> | null = null
  #found: ((error: MusterError, store: Store) => Promise<void>) | null = null

  constructor(options: TableCheckOptions) {
    this.#options = options
  }

  /** `found` is told `corrupt` of what is damaged, once by reads and once by the check, and `internal` of a file that the disk does not give. */
  start(found: (error: MusterError, store: Store) => Promise<void>): void {
    const { store } = this.#options
    this.#found = found
    this.watchReads(store)
    this.#running ??= this.#run().then((error) =>
      error === null ? undefined : this.#tell(error, store),
    )
  }

  /** Also of this store, which takes the place of the one before. */
  watchReads(store: Store): void {
    store.onDamage((error) => void this.#tell(error, store))
  }

  /** Nothing is told any more. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #tell(error: MusterError, store: Store): Promise<void> {
    if (!this.#stop.signal.aborted) await this.#found?.(error, store)
  }

  async #run(): Promise<MusterError | null> {
    const { store, clock, logger } = this.#options
    const { folder, tables } = store
    const startedMs = clock.monotonicMs()
    for (const name of tables) {
      if (this.#stop.signal.aborted) return null
      const path = join(folder, name)
      try {
        const damage = await damageOfTable(path, this.#pace())
        if (damage !== null) return new MusterError('corrupt', `${path} is damaged: ${damage}`)
      } catch (error) {
        const text = `${path} cannot be read: ${fullTextOf(error)}`
        if (systemCodeOf(error) === 'EIO') {
          return new MusterError('internal', text, { cause: error })
        }
        logger.warn('could not check a file of the state', { path, error: textOf(error) })
      }
    }
    const forMs = Math.round(clock.monotonicMs() - startedMs)
    logger.debug('checked the files of the state', { files: tables.length, forMs })
    return null
  }

  #pace(): (bytes: number) => Promise<boolean> {
    const { clock } = this.#options
    const { signal } = this.#stop
    let sinceMs = clock.monotonicMs()
    return async (bytes) => {
      const tookMs = clock.monotonicMs() - sinceMs
      await delay(clock, Math.max(bytes / bytesPerMs, restFactor * tookMs), signal)
      sinceMs = clock.monotonicMs()
      return !signal.aborted
    }
  }
}
