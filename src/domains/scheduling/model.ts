/**
 * Scheduling: evaluations are taken by workers, which decide with `src/scheduler` and propose plans. The leader keeps the queue; it is
 * derived from the state, so a new leader builds its own and nothing of it is replicated.
 */

export const coreName = '_core'

/** Times that a worker takes an evaluation before it is given up. */
export const deliveriesMax = 3
/** An evaluation is lent to a worker of another server for so long, unless the worker prolongs it, which it does more often. */
export const lentMs = 10_000
export const prolongMs = 3_000
/** What the leader's own workers take is lent once it has waited for so long: sooner they have done it themselves. */
export const lendAfterMs = 250
/** Evaluations of one loan, and how long the leader waits for one to lend. */
export const loanMax = 16
export const loanWaitMsMax = 5_000
/** Plans of one evaluation that bring nothing, as the state moved on under each. */
export const attemptsMax = 5

/** A worker as it is shown. */
export type Worker = {
  readonly id: string
  /** RFC 3339 with nanoseconds. */
  readonly started: string
  readonly status: 'Started' | 'Paused'
  readonly workloadStatus: 'WaitingToDequeue' | 'Scheduling' | 'Submitting' | 'Paused'
  readonly enabled: readonly string[]
}

export type WorkersConfig = { readonly count: number; readonly enabled: readonly string[] }
