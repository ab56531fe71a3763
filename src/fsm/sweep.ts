/**
 * Removes the rows of generations that no longer count, in small pieces between other work. Local: servers may be
 * at different places with it, so it goes on where it finds rows, also after a restart.
 */
import { setImmediate } from 'node:timers/promises'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import { generationOf, generationPrefix } from './keys.ts'
import type { Generations } from './meta.ts'
import type { Rows, Store } from './store.ts'

/** What to sweep, asked anew at each step: both may be replaced meanwhile. */
export type Swept = {
  readonly store: () => Store
  readonly living: () => Generations
  readonly logger: Logger
}

export class Sweeper {
  readonly #swept: Swept
  readonly #stop = new AbortController()
  #running: Promise<void> | null = null
  #again = false

  constructor(swept: Swept) {
    this.#swept = swept
  }

  /** One sweep at a time; asked for during one, another follows. */
  request(): void {
    this.#again = true
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { store: current, living, logger } = this.#swept
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false
      const store = current()
      try {
        const rows = await sweepGenerations(store, living, this.#stop.signal)
        if (rows > 0) logger.info('removed rows of replaced states', { rows })
      } catch (error) {
        // An install closes the store under a sweep; the new one is swept next.
        if (store === current()) {
          logger.warn('could not remove rows of replaced states', { error: textOf(error) })
        }
      }
    }
  }
}

/** Resolves when every row belongs to a living generation, or `signal` fired. Rejects when the store was closed. */
async function sweepGenerations(
  store: Store,
  living: () => Generations,
  signal: AbortSignal,
): Promise<number> {
  let removed = 0
  let generation = 1
  while (!signal.aborted) {
    const found = await nextGeneration(store, generation)
    if (found === null) return removed
    generation = found + 1
    const { current, newest, staging } = living()
    // A generation above `newest` cannot be: it is numbered before its first row is written.
    if (found !== current && found !== staging?.generation && found <= newest) {
      removed += await removeGeneration(store, found, signal)
    }
  }
  return removed
}

/** The first generation from `from` on that has rows. */
async function nextGeneration(store: Store, from: number): Promise<number | null> {
  const iterator = store.iterator({
    from: generationPrefix(from),
    prefix: '',
    keys: true,
    snapshot: null,
  })
  try {
    const [first] = await store.nextPage(iterator)
    return first === undefined ? null : generationOf(first[0].toString())
  } finally {
    await iterator.close()
  }
}

async function removeGeneration(
  store: Store,
  generation: number,
  signal: AbortSignal,
): Promise<number> {
  const prefix = generationPrefix(generation)
  const iterator = store.iterator({ from: prefix, prefix, keys: true, snapshot: null })
  let removed = 0
  try {
    while (!signal.aborted) {
      const page = await store.nextPage(iterator)
      if (page.length === 0) break
      const rows: Rows = new Map(page.map(([key]) => [key.toString(), null]))
      await store.write(rows)
      removed += rows.size
      await setImmediate()
    }
  } finally {
    await iterator.close()
  }
  return removed
}
