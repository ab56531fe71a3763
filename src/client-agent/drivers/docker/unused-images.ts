/**
 * Images that tasks of this process had, by name: removed once no task has had them for a while, so that a machine's disk does not
 * fill with those of old versions. What an earlier process used and no task has had since stays.
 */
import type { Clock } from '../../../lib/clock.ts'
import { codeOf, textOf } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/log.ts'
import type { Engine } from './engine.ts'
import { imagePath } from './images.ts'

/** Layers are deleted before Docker answers. */
const removeMs = 60_000

type Known = {
  /** Tasks that have it. */
  readonly users: Set<string>
  /** Monotonic: when the last one let go of it. */
  freeSinceMs: number
  /** Never rejects; null: none is under way. */
  removal: Promise<void> | null
}

export type UnusedImagesOptions = {
  readonly engine: Engine
  readonly clock: Clock
  readonly log: Logger
  /** How long after its last use an image goes; null: all of them stay. */
  readonly afterMs: number | null
}

export class UnusedImages {
  readonly #options: UnusedImagesOptions
  readonly #known = new Map<string, Known>()

  constructor(options: UnusedImagesOptions) {
    this.#options = options
  }

  /** The task has the image until `free`. Resolves once no removal of it is under way: it may have to be pulled again then. */
  async hold(image: string, user: string): Promise<void> {
    const known = this.#known.get(image) ?? { users: new Set(), freeSinceMs: 0, removal: null }
    this.#known.set(image, known)
    known.users.add(user)
    if (known.removal !== null) await known.removal
  }

  free(image: string, user: string): void {
    const known = this.#known.get(image)
    if (known === undefined || !known.users.delete(user)) return
    known.freeSinceMs = this.#options.clock.monotonicMs()
  }

  /** Those that are due. Never rejects. */
  async remove(): Promise<void> {
    const { clock, afterMs } = this.#options
    if (afterMs === null) return
    for (const [image, known] of this.#known) {
      const isDue = known.users.size === 0 && clock.monotonicMs() - known.freeSinceMs >= afterMs
      if (!isDue) continue
      known.removal = this.#remove(image, known)
      await known.removal
      known.removal = null
    }
  }

  async #remove(image: string, known: Known): Promise<void> {
    const { engine, log } = this.#options
    try {
      const path = `/images/${imagePath(image)}`
      await engine.ask({ method: 'DELETE', path, timeoutMs: removeMs })
      log.info('an image that no task uses was removed', { image })
    } catch (error) {
      // Containers of others have it: they may end.
      if (codeOf(error) === 'conflict') return
      if (codeOf(error) !== 'not_found') {
        log.warn('an image that no task uses is left', { image, error: textOf(error) })
        return
      }
    }
    // A task that began meanwhile waits, and holds it still.
    if (known.users.size === 0) this.#known.delete(image)
  }
}
