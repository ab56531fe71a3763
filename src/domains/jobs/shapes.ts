/** What routes of jobs take and answer. */
import { Type, type TProperties, type TSchema } from 'typebox'
import { count, flag, indexes, mapOf, Nanoseconds, nullable, text, Texts } from '../../api/shape.ts'
import { DiffShape } from './diff-shapes.ts'
import { partOf } from './draft-model.ts'
import { jobBytesMax, JobSpec, TaskGroup } from './model.ts'
import { Task } from './task-model.ts'

/** A job whose every second byte is escaped, and room for the rest. */
export const jobBodyBytesMax = 2 * jobBytesMax + 64 * 1024

/** Any member may be missing. */
export const JobShape = partOf(JobSpec, { nulls: true })

export const ParseBody = Type.Object({
  JobHCL: text('The job file'),
  Canonicalize: Type.Optional(flag('Completes the job with its defaults')),
  Variables: Type.Optional(text('Values of variables in HCL, as `image = "redis:7"`, a line each')),
  HCLv1: Type.Optional(flag('Must be false')),
})

const stateOfJob = Type.Partial(
  Type.Object({
    ParentID: Type.String(),
    Dispatched: Type.Boolean(),
    Payload: Type.Null(),
    Stop: Type.Boolean(),
    Stable: Type.Boolean(),
    Status: Type.String(),
    StatusDescription: Type.String(),
    SubmitTime: Type.Null(),
    Version: count('0'),
    CreateIndex: count('0'),
    ModifyIndex: count('0'),
    JobModifyIndex: count('0'),
  }),
)

export const ParsedJobShape = Type.Object(
  { ...propertiesOf(JobShape), ...stateOfJob.properties },
  { title: 'Job' },
)

export const ValidateBody = Type.Object({ Job: JobShape })

export const ValidatedJob = Type.Object(
  {
    DriverConfigValidated: flag('Always true: no server knows what drivers take'),
    ValidationErrors: nullable(Type.Array(Type.String())),
    Error: text('All errors in one text; empty: the job is in order'),
    Warnings: text('What is allowed and seldom meant'),
  },
  { title: 'JobValidation' },
)

const state = {
  ParentID: text('The job that started it; empty: none did'),
  Dispatched: flag('Started by hand'),
  Payload: nullable(text('That it was dispatched with, in base64')),
  Stop: flag('Whether it is to run nothing'),
  Stable: Type.Boolean(),
  Status: Type.Enum(['pending', 'running', 'dead']),
  StatusDescription: Type.String(),
  SubmitTime: Nanoseconds,
  Version: count('Each change of the specification is a new one'),
  ...indexes,
  JobModifyIndex: count('Index of the last registration or stop'),
  VaultToken: text('Always empty'),
}

const RegisteredTask = Type.Object(
  { ...propertiesOf(partOf(Task, { nulls: true })), Vault: Type.Null() },
  { title: 'RegisteredTask' },
)

const RegisteredGroup = Type.Object(
  { ...propertiesOf(partOf(TaskGroup, { nulls: true })), Tasks: Type.Array(RegisteredTask) },
  { title: 'RegisteredTaskGroup' },
)

export const RegisteredJob = Type.Object(
  { ...propertiesOf(JobShape), TaskGroups: Type.Array(RegisteredGroup), ...state },
  { title: 'RegisteredJob' },
)

export const JobVersionList = Type.Object(
  {
    Versions: Type.Array(RegisteredJob),
    Diffs: nullable(
      Type.Array(DiffShape, {
        description: 'With `diffs`: what each version differs in from the one behind it',
      }),
    ),
  },
  { title: 'JobVersions' },
)

const GroupSummary = Type.Object(
  {
    Queued: count('Without a place'),
    Complete: count(''),
    Failed: count(''),
    Running: count(''),
    Starting: count(''),
    Lost: count('Of nodes that are down'),
    Unknown: count('Of nodes that are out of reach'),
  },
  { title: 'JobGroupSummary' },
)

export const JobSummary = Type.Object(
  {
    JobID: Type.String(),
    Namespace: Type.String(),
    Summary: mapOf(GroupSummary, 'Allocations by group'),
    Children: Type.Object(
      { Pending: count(''), Running: count(''), Dead: count('') },
      { description: 'Jobs that it started and that are kept' },
    ),
    ...indexes,
  },
  { title: 'JobSummary' },
)

export const JobStub = Type.Object(
  {
    ID: Type.String(),
    ParentID: state.ParentID,
    Name: Type.String(),
    Namespace: Type.String(),
    Datacenters: Type.Array(Type.String()),
    Type: Type.String(),
    Priority: count('1 to 100'),
    Periodic: Type.Boolean(),
    ParameterizedJob: Type.Boolean(),
    Stop: state.Stop,
    Status: state.Status,
    StatusDescription: Type.String(),
    JobSummary,
    ...indexes,
    JobModifyIndex: state.JobModifyIndex,
    SubmitTime: Nanoseconds,
    Meta: Type.Optional(Texts),
  },
  { title: 'JobListStub' },
)

export const RegisterBody = Type.Object({
  Job: JobShape,
  EnforceIndex: Type.Optional(flag('Only if JobModifyIndex is as below')),
  JobModifyIndex: Type.Optional(count('That of the job; 0: it must not exist')),
  EvalPriority: Type.Optional(count('Of the evaluation, 1 to 100; 0: that of the job')),
  PreserveCounts: Type.Optional(flag('Must be false')),
  PreserveResources: Type.Optional(flag('Must be false')),
})

export const EvaluateBody = Type.Partial(
  Type.Object({
    JobID: text('That of the path'),
    EvalOptions: Type.Partial(
      Type.Object({
        ForceReschedule: flag('Place failed allocations anew at once; needs `submit-job`'),
      }),
    ),
  }),
)

export const RevertBody = Type.Object({
  JobVersion: count('To which'),
  EnforcePriorVersion: Type.Optional(nullable(count('Only if the job is at this version'))),
})

/** Of what a write to a job answers. */
export const WrittenJob = {
  EvalID: text('The evaluation that makes it so; empty: there is none'),
  EvalCreateIndex: count('Index of its entry; 0: there is none'),
  Index: count('Index of the write'),
  KnownLeader: Type.Boolean(),
  LastContact: count('0'),
}

const evaluation = {
  ...WrittenJob,
  JobModifyIndex: state.JobModifyIndex,
}

export const JobEvaluated = Type.Object(evaluation, { title: 'JobEvaluated' })

export const JobRegistered = Type.Object(
  { ...evaluation, Warnings: text('What is allowed and seldom meant') },
  { title: 'JobRegistered' },
)

function propertiesOf(schema: TSchema): TProperties {
  return Type.IsObject(schema) ? schema.properties : {}
}
