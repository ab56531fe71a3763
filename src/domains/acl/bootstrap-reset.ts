/**
 * The word of an operator that access control may begin once more, see `server/acl-reset.ts`. It is good for one beginning: it names
 * the index of the one before. A restore brings that index back, so a word that was used, or is of another state, may not lie
 * about until then: it is removed as soon as a server can tell.
 */
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'

/** What an operator wrote to allow one more beginning. */
export type ResetFile = {
  /** For people. */
  readonly path: string
  /** Null: there is none, or it holds no number. */
  readonly read: () => Promise<number | null>
  /** Resolves once it is gone for good. */
  readonly remove: () => Promise<void>
}

export type BootstrapResetOptions = {
  readonly file: ResetFile
  /** Of the beginning that this server's state knows; null: of none. */
  readonly presentIndex: () => number | null
  readonly log: Logger
}

export class BootstrapReset {
  readonly #options: BootstrapResetOptions
  /** Each look at the file follows the one before, so that none reads what another is about to remove. */
  #turn: Promise<unknown> = Promise.resolve()

  constructor(options: BootstrapResetOptions) {
    this.#options = options
  }

  /** Null: there is none. */
  read(): Promise<number | null> {
    return this.#inTurn(() => this.#options.file.read())
  }

  /** `isWhole`: nothing is committed that this server's state does not know. Else a later index may be known to others alone. */
  removeStale(isWhole: boolean): Promise<void> {
    return this.#removeIf('it was used, or is of another beginning', (found) => {
      const present = this.#options.presentIndex()
      return isWhole ? found !== present : present !== null && found < present
    })
  }

  /** The state was replaced: no word of before is about this one. */
  removeAny(): Promise<void> {
    return this.#removeIf('the state is another one since', () => true)
  }

  /** Never rejects. */
  #removeIf(reason: string, isToGo: (found: number) => boolean): Promise<void> {
    const { file, log } = this.#options
    return this.#inTurn(async () => {
      const found = await file.read()
      try {
        if (found === null || !isToGo(found)) return
        await file.remove()
        log.info('the reset file of access control was removed', {
          path: file.path,
          index: found,
          reason,
        })
      } catch (error) {
        log.warn(
          'the reset file of access control could not be removed: remove it, for after a restore of an older backup it would let anyone take a management token',
          { path: file.path, index: found, error: textOf(error) },
        )
      }
    })
  }

  #inTurn<Value>(look: () => Promise<Value>): Promise<Value> {
    const next = this.#turn.then(look)
    this.#turn = next.catch(() => {})
    return next
  }
}
