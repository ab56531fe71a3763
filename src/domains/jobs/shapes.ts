/** What routes of jobs take and answer. */
import { Type, type TProperties, type TSchema } from 'typebox'
import { count, flag, nullable, text } from '../../api/shape.ts'
import { partOf } from './draft-model.ts'
import { JobSpec } from './model.ts'

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

function propertiesOf(schema: TSchema): TProperties {
  return Type.IsObject(schema) ? schema.properties : {}
}
