/** What routes of allocations answer. */
import { Type } from 'typebox'
import {
  count,
  flag,
  indexes,
  mapOf,
  Nanoseconds,
  nullable,
  text,
  Texts,
  Time,
} from '../../api/shape.ts'
import { ScoreMetaData } from '../evaluations/shapes.ts'
import { RegisteredJob } from '../jobs/shapes.ts'
import { clientStatuses, desiredStatuses } from './model.ts'

const TaskEvent = Type.Object(
  {
    Type: text('As `Started`'),
    Time: Nanoseconds,
    Message: Type.String(),
    DisplayMessage: Type.String(),
    Details: Texts,
    DiskLimit: count('Always 0'),
    DownloadError: Type.String(),
    DriverError: Type.String(),
    DriverMessage: Type.String(),
    ExitCode: Type.Integer(),
    FailedSibling: Type.String(),
    FailsTask: flag('The task failed with it'),
    GenericSource: Type.String(),
    KillError: Type.String(),
    KillReason: Type.String(),
    KillTimeout: count('Nanoseconds'),
    RestartReason: Type.String(),
    SetupError: Type.String(),
    Signal: Type.Integer(),
    StartDelay: count('Nanoseconds'),
    TaskSignal: Type.String(),
    TaskSignalReason: Type.String(),
    ValidationError: Type.String(),
    VaultError: Type.String(),
  },
  { title: 'AllocationTaskEvent' },
)

const TaskState = Type.Object(
  {
    State: Type.Enum(['pending', 'running', 'dead']),
    Failed: Type.Boolean(),
    Restarts: count('In this allocation'),
    LastRestart: nullable(Time),
    StartedAt: nullable(Time),
    FinishedAt: nullable(Time),
    Events: Type.Array(TaskEvent, { description: 'The last ten, the oldest first' }),
  },
  { title: 'AllocationTaskState' },
)

const Health = Type.Object(
  {
    Healthy: nullable(Type.Boolean()),
    Timestamp: Time,
    Canary: flag('It stands beside what it may replace'),
    ModifyIndex: count('Of the allocation'),
  },
  { title: 'AllocationHealth' },
)

const Tracker = Type.Object(
  {
    Events: Type.Array(
      Type.Object({
        RescheduleTime: Nanoseconds,
        PrevAllocID: Type.String(),
        PrevNodeID: Type.String(),
        Delay: Nanoseconds,
      }),
    ),
  },
  { title: 'AllocationRescheduleTracker' },
)

const common = {
  ID: Type.String(),
  EvalID: text('Evaluation that placed it, or changed it last'),
  Name: text('`job.group[index]`'),
  Namespace: Type.String(),
  NodeID: Type.String(),
  NodeName: Type.String(),
  JobID: Type.String(),
  TaskGroup: Type.String(),
  DesiredStatus: Type.Enum([...desiredStatuses]),
  DesiredDescription: Type.String(),
  DesiredTransition: Type.Object({
    Migrate: flag('It is to leave its node'),
    NoShutdownDelay: Type.Optional(flag('Its tasks are ended without their delays')),
    ForceReschedule: Type.Optional(flag('It failed, and is to be placed anew at once')),
  }),
  ClientStatus: Type.Enum([...clientStatuses]),
  ClientDescription: Type.String(),
  TaskStates: mapOf(TaskState, 'By task; empty until the agent reports'),
  CreateTime: Nanoseconds,
  ModifyTime: Nanoseconds,
  ...indexes,
}

const Preempted = Type.Array(Type.String(), {
  description: 'Of lower priority, that end for it',
})

const Counts = nullable(mapOf(count('Nodes')))

const Metrics = Type.Object(
  {
    NodesEvaluated: count('Nodes that were looked at'),
    NodesFiltered: count('Of those, nodes that did not fit the constraints'),
    NodesExhausted: count('Of those, nodes that were full'),
    NodesAvailable: mapOf(count('Nodes'), 'By datacenter'),
    ClassFiltered: Counts,
    ConstraintFiltered: Counts,
    ClassExhausted: Counts,
    DimensionExhausted: Counts,
    QuotaExhausted: Type.Null(),
    Scores: mapOf(Type.Number(), 'By node and name of the score'),
    ScoreMetaData,
    AllocationTime: Nanoseconds,
    CoalescedFailures: count('Allocations that failed alike'),
  },
  { title: 'AllocationMetrics' },
)

const Ports = nullable(
  Type.Array(
    Type.Object({ Label: Type.String(), Value: count('On the host'), To: count('0: the same') }),
  ),
)

const Network = Type.Object(
  {
    CIDR: Type.String(),
    Device: Type.String(),
    DynamicPorts: Ports,
    IP: Type.String(),
    MBits: count('Always 0'),
    Mode: Type.String(),
    ReservedPorts: Ports,
  },
  { title: 'AllocationNetwork' },
)
const Networks = nullable(Type.Array(Network))

const Resources = Type.Object(
  {
    CPU: count('MHz'),
    MemoryMB: Type.Integer(),
    DiskMB: Type.Integer(),
    IOPS: count('Always 0'),
    Networks,
    Devices: Type.Null(),
  },
  { title: 'AllocationTaskResources' },
)

const TaskAllocated = Type.Object(
  {
    Cpu: Type.Object({ CpuShares: count('MHz') }),
    Memory: Type.Object({
      MemoryMB: Type.Integer(),
      MemoryMaxMB: Type.Integer({ description: '0: no more than is reserved; -1: no limit' }),
    }),
    Networks: Type.Null(),
    Devices: Type.Null(),
  },
  { title: 'AllocatedTaskResources' },
)

const Port = Type.Object({
  Label: Type.String(),
  Value: count('On the host'),
  To: count('Inside; 0: the same'),
  HostIP: Type.String(),
})

const Allocated = Type.Object({
  Tasks: mapOf(TaskAllocated),
  Shared: Type.Object({ DiskMB: Type.Integer(), Networks, Ports: Type.Array(Port) }),
})

export const AllocationStub = Type.Object(
  {
    ...common,
    TaskStates: nullable(common.TaskStates),
    AllocatedResources: Type.Optional(Allocated),
    JobType: text('`service`, `batch`, `system` or `sysbatch`'),
    JobVersion: count('Version of the job that it runs'),
    FollowupEvalID: Type.String(),
    NextAllocation: text('The one that was made instead of it'),
    DeploymentStatus: nullable(Health),
    RescheduleTracker: nullable(Tracker),
    PreemptedAllocations: nullable(Preempted),
    PreemptedByAllocation: text('That it ends for'),
  },
  { title: 'AllocationListStub' },
)

/** What there is of it without its job. */
const whole = {
  ...common,
  DeploymentID: Type.Optional(text('That it counts in')),
  FollowupEvalID: Type.Optional(text('Evaluation that it waits for')),
  PreviousAllocation: Type.Optional(text('The one that it was made instead of')),
  NextAllocation: Type.Optional(text('The one that was made instead of it')),
  PreemptedAllocations: Type.Optional(Preempted),
  PreemptedByAllocation: Type.Optional(text('That it ends for')),
  DeploymentStatus: Type.Optional(Health),
  RescheduleTracker: Type.Optional(Tracker),
  AllocModifyIndex: count('Of the last change that its agent has to know of'),
  Metrics,
  Resources,
  SharedResources: Resources,
  TaskResources: mapOf(Resources),
  AllocatedResources: Allocated,
}

export const Allocation = Type.Object(
  { ...whole, Job: nullable(RegisteredJob) },
  { title: 'Allocation' },
)

export const AllocationStopped = Type.Object({
  EvalID: text('Empty: its job is gone'),
  Index: count('Index of the log entry'),
})
