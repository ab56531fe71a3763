/** One command: encoded, proposed, and its outcome awaited until the deadline. */
import type { Command } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Consensus, Proposed, ProposeOptions } from './consensus.ts'

export type WriterOptions = {
  readonly consensus: Consensus
  /** `Machine.encodeCommand` */
  readonly encode: (command: Command, name: string | null) => Uint8Array
  readonly clock: Clock
}

/** How a method's commands are proposed. */
export type WriteOptions = ProposeOptions & {
  /** Of the write, see `sent-writes.ts`; absent: none. */
  readonly name?: string
}

export interface Proposer {
  propose(command: Command, deadlineMs: number, options?: WriteOptions): Promise<Proposed>
}

export class Writer implements Proposer {
  readonly #options: WriterOptions

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /**
   * Resolves once the command is applied here. Rejects with `not_leader` or `overloaded` (it took no effect), or with
   * `outcome_unknown`: also when the deadline (monotonic ms) passes, for the entry may still be committed.
   */
  propose(
    command: Command,
    deadlineMs: number,
    { name, ...options }: WriteOptions = {},
  ): Promise<Proposed> {
    const { consensus, encode, clock } = this.#options
    const leftMs = deadlineMs - clock.monotonicMs()
    if (leftMs <= 0) {
      return Promise.reject(new MusterError('timeout', 'the time was up before the write began'))
    }
    const data = encode(command, name ?? null)
    // Not `within`: each write comes here, and that would make five more closures for it.
    return new Promise((resolve, reject) => {
      const timer = clock.setTimer(leftMs, () => {
        reject(
          new MusterError(
            'outcome_unknown',
            'the time was up before the write was confirmed: it may or may not take effect',
          ),
        )
      })
      consensus.propose(data, options).then(
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
