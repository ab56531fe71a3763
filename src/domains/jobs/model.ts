/**
 * The specification of a job, as the API writes it: groups of tasks that run together, and the rules by which they are
 * placed, updated and restarted. `defaults-model.ts` completes one, `validate-model.ts` says what is wrong with it.
 *
 * Everything in the models of `jobs` is pure. That a job is not scaled while it is deployed is the one thing it asks `deployments`.
 */
import { Type, type Static } from 'typebox'
import { Network, Service } from './network-model.ts'
import { Affinity, Constraint, Spread } from './placement-model.ts'
import { Migrate, Parameterized, Periodic, Reschedule, Restart, Update } from './rules-model.ts'
import {
  block,
  Duration,
  Flag,
  later,
  list,
  map,
  orNull,
  TextMap,
  Whole,
  Word,
  Words,
} from './schema-model.ts'
import { Scaling } from './scaling-model.ts'
import { Task } from './task-model.ts'

export { defaultNamespace } from '../namespaces/model.ts'

/** Of a job as JSON, and of a job file. */
export const jobBytesMax = 1024 * 1024
const groupsMax = 256
/** Of a group. */
export const tasksMax = 128

const EphemeralDisk = block('JobEphemeralDisk', { Sticky: Flag, Migrate: Flag, SizeMB: Whole })
export type EphemeralDisk = Readonly<Static<typeof EphemeralDisk>>

const Volume = block('JobVolume', { Name: Word, Type: Word, Source: Word, ReadOnly: Flag })

/** Which allocation of a name stays when one that was cut off is back and its replacement runs. */
export const reconcileStrategies = [
  'best_score',
  'keep_original',
  'keep_replacement',
  'longest_running',
] as const

/** `LostAfter` and `StopOnClientAfter` are those of the group as well: `MaxClientDisconnect` and `StopAfterClientDisconnect`. */
const Disconnect = block('JobDisconnect', {
  LostAfter: orNull(Duration),
  StopOnClientAfter: orNull(Duration),
  Replace: Flag,
  Reconcile: Word,
})
export type Disconnect = Readonly<Static<typeof Disconnect>>

export const TaskGroup = block('JobTaskGroup', {
  Name: Word,
  Count: Whole,
  Meta: TextMap,
  Constraints: list(Constraint),
  Affinities: list(Affinity),
  Spreads: list(Spread),
  Networks: list(Network),
  Services: list(Service),
  Volumes: map(Volume),
  RestartPolicy: Restart,
  ReschedulePolicy: orNull(Reschedule),
  EphemeralDisk,
  Update: orNull(Update),
  Migrate: orNull(Migrate),
  ShutdownDelay: orNull(Duration),
  StopAfterClientDisconnect: orNull(Duration),
  MaxClientDisconnect: orNull(Duration),
  Disconnect: later(Disconnect),
  /** Absent: the group has no policy. */
  Scaling: Type.Optional(Scaling),
  Tasks: list(Task, tasksMax),
})
export type TaskGroup = Readonly<Static<typeof TaskGroup>>

export const JobSpec = block('JobSpecification', {
  ID: Word,
  Name: Word,
  Namespace: Word,
  Region: Word,
  Type: Word,
  Priority: Whole,
  AllAtOnce: Flag,
  Datacenters: Words,
  Meta: TextMap,
  Constraints: list(Constraint),
  Affinities: list(Affinity),
  Spreads: list(Spread),
  Update: orNull(Update),
  Migrate: orNull(Migrate),
  Reschedule: orNull(Reschedule),
  Periodic: orNull(Periodic),
  ParameterizedJob: orNull(Parameterized),
  TaskGroups: list(TaskGroup, groupsMax),
})
export type JobSpec = Readonly<Static<typeof JobSpec>>
