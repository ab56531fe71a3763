/**
 * How far this agent has seen the log of the servers, so that an answer of a server that is behind undoes nothing. Another
 * cluster's log is another one, whose indexes are not compared: after the loss of all servers an operator begins a new cluster and
 * restores a backup. One whose log goes on from the loss of its quorum is not.
 */
import type { LogOrigin } from '../../domains/allocations/log-model.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'

/** A refusal that lasts so long is told, and told again after so long. */
const warnMs = { first: 30_000, again: 600_000 } as const

/** Of an answer. `isUsed`: it says more than a cluster does that was just begun; absent where `list` decides. */
export type SeenAnswer = {
  readonly index: number
  readonly log?: LogOrigin | undefined
  readonly isUsed?: boolean
}

export type SeenLogOptions = {
  /** What the servers are asked for, as the log has it. */
  readonly what: string
  /** Of what is to run here: no other log is followed than its. Absent: this is it. */
  readonly list?: SeenLog
  readonly clock: Clock
  readonly log: Logger
}

export class SeenLog {
  readonly #options: SeenLogOptions
  #index = 0
  #log: LogOrigin | null = null
  #refusing: { readonly sinceMs: number; warnAtMs: number } | null = null

  constructor(options: SeenLogOptions) {
    this.#options = options
  }

  get index(): number {
    return this.#index
  }

  /** Null: no server has told. */
  get log(): LogOrigin | null {
    return this.#log
  }

  /** What an earlier process of the agent had seen. */
  begin(index: number, log: LogOrigin | null): void {
    this.#index = index
    this.#log = log
  }

  /** Whether the answer is of another log than the answers before. Throws `unavailable` for one that is not to be believed. */
  isOther({ index, log, isUsed }: SeenAnswer): boolean {
    const isOther = log !== undefined && isOtherThan(this.#log, log)
    if (log !== undefined && !this.#mayFollow(log, isUsed === true)) {
      throw this.#refused(
        `the servers are of another cluster (${log.cluster}), into which nothing was restored: they know entry ${index}, this agent ${this.#index} of the one before`,
      )
    }
    if (isOther || index >= this.#index) return isOther
    // It would end what was placed since.
    throw this.#refused(`a server is behind: it knows entry ${index}, this agent ${this.#index}`)
  }

  /** All of the answer is known. */
  took({ index, log }: Omit<SeenAnswer, 'isUsed'>): void {
    this.#index = index
    // An old member of a line that went on says less of it.
    const isOlder = log !== undefined && this.#log?.predecessors.includes(log.cluster) === true
    if (log !== undefined && !isOlder) this.#log = log
    this.#refusing = null
  }

  /** However long another log is: a cluster that was just begun lists nothing that ran before. */
  #mayFollow(log: LogOrigin, isUsed: boolean): boolean {
    const { list } = this.#options
    if (list !== undefined) return !isOtherThan(list.log, log)
    return isUsed || log.isRestored === true || !isOtherThan(this.#log, log)
  }

  #refused(reason: string): MusterError {
    const { clock, log, what } = this.#options
    const nowMs = clock.monotonicMs()
    this.#refusing ??= { sinceMs: nowMs, warnAtMs: nowMs + warnMs.first }
    if (nowMs >= this.#refusing.warnAtMs) {
      this.#refusing.warnAtMs = nowMs + warnMs.again
      log.warn(`${what} is not taken from the servers`, {
        reason,
        seconds: Math.round((nowMs - this.#refusing.sinceMs) / 1_000),
      })
    }
    return new MusterError('unavailable', reason)
  }
}

/** Null: no server has told of the one before. */
function isOtherThan(before: LogOrigin | null, log: LogOrigin): boolean {
  return before !== null && !isLineOf(log, before)
}

/** Whether an index of the one may be compared with one of the other. */
function isLineOf(one: LogOrigin, other: LogOrigin): boolean {
  return (
    one.cluster === other.cluster ||
    one.predecessors.includes(other.cluster) ||
    other.predecessors.includes(one.cluster)
  )
}

/** The same for an index of a state of `cluster`. */
export function isOfLog({ cluster, predecessors }: LogOrigin, of: string): boolean {
  return cluster === of || predecessors.includes(of)
}
