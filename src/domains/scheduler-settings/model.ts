/**
 * How the scheduler works, replicated, so that the next leader does the same: which nodes it prefers, for which types of jobs it
 * stops work of lower priority, and what an operator has paused.
 *
 * `scheduler-settings` may import `evaluations`, `rpc`, `fsm`, `api` and `lib`.
 */
import { Type, type Static } from 'typebox'
import { indexes, record } from '../../fsm/row-schema.ts'

/** The command version of the first programs whose tasks have a limit of memory above what is reserved for them. */
export const oversubscriptionVersion = 12

export const algorithms = ['binpack', 'spread'] as const

/** By type of job: whether one that finds no place may take that of work of lower priority. */
const Preemption = Type.Object({
  service: Type.Boolean(),
  batch: Type.Boolean(),
  system: Type.Boolean(),
  sysbatch: Type.Boolean(),
})

export const SchedulerSettings = Type.Object({
  /** binpack: the fullest node that has room; spread: the emptiest. */
  algorithm: Type.Enum([...algorithms]),
  preemption: Preemption,
  /** Jobs are registered, dispatched and scaled by operators alone. */
  rejectsJobs: Type.Boolean(),
  /** Evaluations wait. */
  pausesEvaluations: Type.Boolean(),
  /** Tasks may use more memory than is reserved for them. Since `oversubscriptionVersion`; absent: no. */
  oversubscribesMemory: Type.Optional(Type.Literal(true)),
})
export type SchedulerSettings = Readonly<Static<typeof SchedulerSettings>>

export const SchedulerSettingsRow = record({ ...SchedulerSettings.properties, ...indexes })
export type SchedulerSettingsRow = Readonly<Static<typeof SchedulerSettingsRow>>

/** As Nomad's. */
export const defaultSettings: SchedulerSettings = {
  algorithm: 'binpack',
  preemption: { service: false, batch: false, system: true, sysbatch: false },
  rejectsJobs: false,
  pausesEvaluations: false,
}
