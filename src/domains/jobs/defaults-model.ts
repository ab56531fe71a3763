/**
 * A job completed: what was left out gets its default, by the type of the job, and groups and tasks inherit what the job
 * and the group say. A complete job stays as it is.
 */
import { defaultRegion } from '../../lib/default-region.ts'
import type { Draft, JobDraft } from './draft-model.ts'
import type { Disconnect, EphemeralDisk, JobSpec, TaskGroup } from './model.ts'
import { networkWithDefaults, serviceWithDefaults } from './network-defaults-model.ts'
import {
  affinityWithDefaults,
  constraintWithDefaults,
  spreadWithDefaults,
} from './placement-defaults-model.ts'
import type {
  Migrate,
  Parameterized,
  Periodic,
  Reschedule,
  Restart,
  Update,
} from './rules-model.ts'
import { noMax, scalingType, type Scaling } from './scaling-model.ts'
import { taskWithDefaults } from './task-defaults-model.ts'

const second = 1e9
const minute = 60 * second
const hour = 60 * minute

const updateDefaults: Update = {
  Stagger: 30 * second,
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * second,
  HealthyDeadline: 5 * minute,
  ProgressDeadline: 10 * minute,
  Canary: 0,
  AutoRevert: false,
  AutoPromote: false,
}

const migrateDefaults: Migrate = {
  MaxParallel: 1,
  HealthCheck: 'checks',
  MinHealthyTime: 10 * second,
  HealthyDeadline: 5 * minute,
}

const longRunningRestart: Restart = {
  Attempts: 2,
  Interval: 30 * minute,
  Delay: 15 * second,
  Mode: 'fail',
}

const batchRestart: Restart = { Attempts: 3, Interval: 24 * hour, Delay: 15 * second, Mode: 'fail' }

const noReschedule: Reschedule = {
  Attempts: 0,
  Interval: 0,
  Delay: 0,
  DelayFunction: '',
  MaxDelay: 0,
  Unlimited: false,
}

/** By the type of the job; other types place nothing anew by themselves. */
const rescheduleDefaults: Readonly<Record<string, Reschedule>> = {
  service: {
    Attempts: 0,
    Interval: 0,
    Delay: 30 * second,
    DelayFunction: 'exponential',
    MaxDelay: hour,
    Unlimited: true,
  },
  batch: {
    Attempts: 1,
    Interval: 24 * hour,
    Delay: 5 * second,
    DelayFunction: 'constant',
    MaxDelay: 0,
    Unlimited: false,
  },
}

const ephemeralDiskDefaults: EphemeralDisk = { Sticky: false, Migrate: false, SizeMB: 300 }

const periodicDefaults: Periodic = {
  Enabled: true,
  Spec: '',
  Specs: [],
  SpecType: 'cron',
  ProhibitOverlap: false,
  TimeZone: 'UTC',
}

/** Clients in Go send what nobody set as empty. */
function parameterizedWithDefaults({
  Payload = '',
  ...draft
}: Draft<Parameterized>): Parameterized {
  return {
    MetaRequired: [],
    MetaOptional: [],
    ...draft,
    Payload: Payload === '' ? 'optional' : Payload,
  }
}

function disconnectWithDefaults({ LostAfter = 0, ...draft }: Draft<Disconnect>): Disconnect {
  return {
    // Clients in Go send none as 0.
    LostAfter: LostAfter === 0 ? null : LostAfter,
    StopOnClientAfter: null,
    Replace: true,
    Reconcile: 'best_score',
    ...draft,
  }
}

function scalingWithDefaults({ Type = '', ...draft }: Draft<Scaling>, count: number): Scaling {
  const defaults = { Enabled: true, Max: noMax, Policy: {}, Min: count }
  return { ...defaults, ...draft, Type: Type === '' ? scalingType : Type }
}

/** `namespace`: of a job that names none. */
export function withDefaults(draft: JobDraft, namespace: string): JobSpec {
  const type = draft.Type ?? 'service'
  const id = draft.ID ?? ''
  const job = {
    ID: id,
    Name: draft.Name ?? id,
    Namespace: draft.Namespace ?? namespace,
    Region: draft.Region === undefined || draft.Region === '' ? defaultRegion : draft.Region,
    Type: type,
    Priority: draft.Priority ?? 50,
    AllAtOnce: draft.AllAtOnce ?? false,
    Datacenters: draft.Datacenters ?? [],
    Meta: draft.Meta ?? {},
    Constraints: (draft.Constraints ?? []).map(constraintWithDefaults),
    Affinities: (draft.Affinities ?? []).map(affinityWithDefaults),
    Spreads: (draft.Spreads ?? []).map(spreadWithDefaults),
    Update: updateOfJob(draft.Update, type),
    Migrate: draft.Migrate === undefined ? null : { ...migrateDefaults, ...draft.Migrate },
    Reschedule:
      draft.Reschedule === undefined ? null : { ...rescheduleOf(type), ...draft.Reschedule },
    Periodic: draft.Periodic === undefined ? null : periodicWithDefaults(draft.Periodic),
    ParameterizedJob:
      draft.ParameterizedJob === undefined
        ? null
        : parameterizedWithDefaults(draft.ParameterizedJob),
  }
  const groups = draft.TaskGroups ?? []
  return { ...job, TaskGroups: groups.map((group) => groupWithDefaults(group, job)) }
}

/** As it is kept: tasks have the disk of their group, whatever old job files say. */
export function withoutTaskDisks(job: JobSpec): JobSpec {
  const TaskGroups = job.TaskGroups.map((group) => ({
    ...group,
    Tasks: group.Tasks.map((task) => ({ ...task, Resources: { ...task.Resources, DiskMB: 0 } })),
  }))
  return { ...job, TaskGroups }
}

type JobAlone = Omit<JobSpec, 'TaskGroups'>

function groupWithDefaults(draft: Draft<TaskGroup>, job: JobAlone): TaskGroup {
  const name = draft.Name ?? ''
  const count = draft.Count ?? draft.Scaling?.Min ?? 1
  const disconnect =
    draft.Disconnect === undefined ? null : disconnectWithDefaults(draft.Disconnect)
  const restart: Restart = {
    ...(isLongRunning(job.Type) ? longRunningRestart : batchRestart),
    ...draft.RestartPolicy,
  }
  return {
    Name: name,
    Count: count,
    Meta: draft.Meta ?? {},
    Constraints: (draft.Constraints ?? []).map(constraintWithDefaults),
    Affinities: (draft.Affinities ?? []).map(affinityWithDefaults),
    Spreads: (draft.Spreads ?? []).map(spreadWithDefaults),
    Networks: (draft.Networks ?? []).map(networkWithDefaults),
    Services: (draft.Services ?? []).map((service) =>
      serviceWithDefaults(service, { name: `${job.Name}-${name}`, task: '' }),
    ),
    Volumes: volumesWithDefaults(draft.Volumes ?? {}),
    RestartPolicy: restart,
    ReschedulePolicy: rescheduleOfGroup(draft.ReschedulePolicy, job),
    EphemeralDisk: { ...ephemeralDiskDefaults, ...draft.EphemeralDisk },
    Update: inherited(job.Update, draft.Update, updateDefaults),
    Migrate: inherited(
      job.Migrate ?? (job.Type === 'service' ? migrateDefaults : null),
      draft.Migrate,
      migrateDefaults,
    ),
    ShutdownDelay: draft.ShutdownDelay ?? null,
    StopAfterClientDisconnect:
      draft.StopAfterClientDisconnect ?? disconnect?.StopOnClientAfter ?? null,
    MaxClientDisconnect: draft.MaxClientDisconnect ?? disconnect?.LostAfter ?? null,
    ...(disconnect !== null && { Disconnect: disconnect }),
    ...(draft.Scaling !== undefined && { Scaling: scalingWithDefaults(draft.Scaling, count) }),
    Tasks: (draft.Tasks ?? []).map((task) =>
      taskWithDefaults(task, { restart, prefix: `${job.Name}-${name}` }),
    ),
  }
}

/** What the group says goes before what the job says, member by member. */
function inherited<Rules>(
  ofJob: Rules | null,
  ofGroup: Partial<Rules> | undefined,
  defaults: Rules,
): Rules | null {
  if (ofJob === null && ofGroup === undefined) return null
  return { ...defaults, ...ofJob, ...ofGroup }
}

function updateOfJob(draft: Draft<Update> | undefined, type: string): Update | null {
  if (draft === undefined && !isLongRunning(type)) return null
  return { ...updateDefaults, ...draft }
}

function rescheduleOfGroup(draft: Draft<Reschedule> | undefined, job: JobAlone): Reschedule | null {
  const defaults = rescheduleOf(job.Type)
  return inherited(job.Reschedule ?? (defaults === noReschedule ? null : defaults), draft, defaults)
}

function rescheduleOf(type: string): Reschedule {
  return Object.hasOwn(rescheduleDefaults, type)
    ? (rescheduleDefaults[type] ?? noReschedule)
    : noReschedule
}

function isLongRunning(type: string): boolean {
  return type === 'service' || type === 'system'
}

function periodicWithDefaults(draft: Draft<Periodic>): Periodic {
  const zone = draft.TimeZone ?? ''
  return { ...periodicDefaults, ...draft, TimeZone: zone === '' ? periodicDefaults.TimeZone : zone }
}

function volumesWithDefaults(draft: Draft<TaskGroup['Volumes']>): TaskGroup['Volumes'] {
  return Object.fromEntries(
    Object.entries(draft).map(([name, volume]) => [
      name,
      { Name: name, Type: '', Source: '', ReadOnly: false, ...volume },
    ]),
  )
}
