/**
 * Scheduling: evaluations are taken by workers, which decide with `src/scheduler` and propose plans. The leader keeps the queue; it is
 * derived from the state, so a new leader builds its own and nothing of it is replicated.
 *
 * `scheduling` may import `evaluations`, `nodes`, `jobs`, `allocations`, `scheduler`, `rpc`, `fsm` and `lib`.
 */

/** The kinds of work. Workers take the core kind always: it is the servers' own housekeeping. */
export const schedulerNames = ['service', 'batch', 'system', 'sysbatch', '_core'] as const

/** Times that a worker takes an evaluation before it is given up. */
export const deliveriesMax = 3
/** Plans of one evaluation that bring nothing, as the state moved on under each. */
export const attemptsMax = 5
