/** One command: encoded, proposed, and its outcome awaited until the deadline. */
import type { Command } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Consensus, Proposed } from './consensus.ts'

export type WriterOptions = {
  readonly consensus: Consensus
  /** `encodeCommand` of `fsm/codec.ts`. */
  readonly encode: (command: Command) => Uint8Array
  readonly clock: Clock
}

export class Writer {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /**
   * Resolves once the command is applied here. Rejects with `not_leader` or `overloaded` (surely not appended), or with
   * `outcome_unknown`: also when the deadline (monotonic ms) passes, for the entry may still be committed.
   */
  propose(command: Command, deadlineMs: number): Promise<Proposed> {
    const { consensus, encode, clock } = this.#options
    const leftMs = deadlineMs - clock.monotonicMs()
    if (leftMs <= 0) {
      return Promise.reject(new MusterError('timeout', 'the time was up before the write began'))
    }
    const data = encode(command)
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(leftMs, () => {
        reject(
          new MusterError(
            'outcome_unknown',
            'the time was up before the write was confirmed: it may or may not take effect',
          ),
        )
      })
      consensus.propose(data).then(
        (proposed) => {
          timer.cancel()
          resolve(proposed)
        },
        (error: unknown) => {
          timer.cancel()
          reject(error)
        },
      )
    })
  }
}
