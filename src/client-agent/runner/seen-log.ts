/**
 * How far this agent has seen the log of the servers, so that an answer of a server that is behind undoes nothing. Another
 * cluster's log is another one, whose indexes are not compared: after the loss of all servers an operator begins a new cluster and
 * restores a backup.
 *
 * So is the log of a successor, which a cluster goes on as after the loss of its quorum: entries that this agent had seen may be lost.
 * From the entry on that begins the successor, a server of it knows all that is left of the log before. One that does not know that
 * entry yet is behind; and once the successor was heard, members of the cluster before are not believed any more.
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
    if (log !== undefined) this.#mustBeFollowed(log, index, isUsed === true)
    const isOther = log !== undefined && this.#log !== null && isOtherThan(this.#log, log)
    if (isOther || index >= this.#index) return isOther
    // It would end what was placed since.
    throw this.#refused(`a server is behind: it knows entry ${index}, this agent ${this.#index}`)
  }

  /** All of the answer is known. */
  took({ index, log }: Omit<SeenAnswer, 'isUsed'>): void {
    this.#index = index
    // A server of an earlier version says less of it.
    if (log !== undefined)
      this.#log = log.cluster === this.#log?.cluster ? { ...this.#log, ...log } : log
    this.#refusing = null
  }

  #mustBeFollowed(log: LogOrigin, index: number, isUsed: boolean): void {
    const { list } = this.#options
    const before = list === undefined ? this.#log : list.log
    if (before === null || before.cluster === log.cluster) return
    if (before.predecessors.includes(log.cluster)) {
      throw this.#refused(
        `a server is of cluster ${log.cluster}, which lost its quorum and went on as ${before.cluster}`,
      )
    }
    if (log.predecessors.includes(before.cluster)) {
      const { beginsAt } = log
      if (beginsAt === undefined) return
      if (index < beginsAt) {
        throw this.#refused(
          `a server is behind: it knows entry ${index}, its cluster goes on from the one before at ${beginsAt}`,
        )
      }
      if (list === undefined) return
    } else if (list === undefined && (isUsed || log.isRestored === true)) {
      return
    }
    // However long its log is: a cluster that was just begun lists nothing that ran before.
    throw this.#refused(
      list === undefined
        ? `the servers are of another cluster (${log.cluster}), into which nothing was restored: they know entry ${index}, this agent ${this.#index} of the one before`
        : `the servers are of another cluster (${log.cluster}), whose list of what is to run here is not followed yet`,
    )
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

/** Whether no index of the one may be compared with one of the other. */
function isOtherThan(before: LogOrigin, log: LogOrigin): boolean {
  if (before.cluster === log.cluster) return false
  // Servers of earlier versions do not say where the successor begins: its log goes on as the same one.
  return !log.predecessors.includes(before.cluster) || log.beginsAt !== undefined
}

/** How far the log was seen when a server of `cluster` was at `index`; 0: that was another log. */
export function indexInLog(log: LogOrigin, cluster: string, index: number): number {
  if (cluster === log.cluster) return index
  return log.beginsAt === undefined && log.predecessors.includes(cluster) ? index : 0
}
