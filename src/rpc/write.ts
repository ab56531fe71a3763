/** One command: encoded, proposed, and its outcome awaited until the deadline. */
import type { Command, Given, Proposable } from '../fsm/domain.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Consensus, Proposed, ProposeOptions } from './consensus.ts'

export type WriterOptions = {
  readonly consensus: Consensus
  /** `Machine.encodeCommand` */
  readonly encode: (command: Command, name: string | null) => Uint8Array
  readonly clock: Clock
}

/** How a method's commands are proposed, all of them. */
export type WriteOptions = ProposeOptions & {
  /** Of the write, see `sent-writes.ts`; absent: none. */
  readonly name?: string | null
}

/** Replicates a command; resolves with its outcome once it is applied here. */
export type Propose = <Args, Outcome>(
  command: Proposable<Args, Outcome>,
  args: Given<NoInfer<Args>>,
) => Promise<Proposed<Outcome>>

/**
 * With the types of its commands: what they say of outcomes is what the state machine gives, which applies the same definition.
 */
export function typedPropose(propose: (command: Command) => Promise<Proposed>): Propose {
  return (command, args) => propose({ type: command.type, args }) as Promise<Proposed<never>>
}

export interface Proposer {
  /** What is proposed took effect before, and is only answered. */
  readonly tookEffect?: boolean
  propose(command: Command, options: WriteOptions): Promise<Proposed>
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
  propose(command: Command, options: WriteOptions): Promise<Proposed> {
    const { consensus, encode, clock } = this.#options
    const { deadlineMs = Infinity, name = null } = options
    if (deadlineMs <= clock.monotonicMs()) {
      return Promise.reject(new MusterError('timeout', 'deadline exceeded before the write began'))
    }
    return consensus.propose(encode(command, name), options)
  }
}
