/** What routes about deployments take and answer. */
import { Type } from 'typebox'
import { count, flag, indexes, mapOf, Nanoseconds, nullable, text, Time } from '../../api/shape.ts'
import { deploymentStatuses } from './model.ts'

const Group = Type.Object(
  {
    AutoRevert: flag('Where it fails, the job goes back to its last stable version'),
    AutoPromote: flag('Its canaries are promoted once they are healthy'),
    ProgressDeadline: Nanoseconds,
    RequireProgressBy: Time,
    Promoted: Type.Boolean(),
    PlacedCanaries: nullable(Type.Array(Type.String(), { description: 'The last 128' })),
    DesiredCanaries: count('0: it has none'),
    DesiredTotal: count('Allocations that have to be healthy in the end'),
    PlacedAllocs: count('Placed, or changed in place'),
    HealthyAllocs: count('That are healthy now'),
    UnhealthyAllocs: count('That ever were not'),
  },
  { title: 'DeploymentGroup' },
)

export const Deployment = Type.Object(
  {
    ID: Type.String(),
    Namespace: Type.String(),
    JobID: Type.String(),
    JobVersion: count('That it brings'),
    JobModifyIndex: count('Of the job when it was made'),
    JobSpecModifyIndex: count('Of the registration'),
    JobCreateIndex: count('Of the job'),
    IsMultiregion: flag('Always false'),
    TaskGroups: mapOf(Group, 'By group'),
    Status: Type.Enum([...deploymentStatuses]),
    StatusDescription: Type.String(),
    EvalPriority: count('1 to 100'),
    ...indexes,
    CreateTime: Nanoseconds,
    ModifyTime: Nanoseconds,
  },
  { title: 'Deployment' },
)

export const DeploymentChange = Type.Object(
  {
    EvalID: text('The evaluation that makes it so; empty: the job is gone'),
    EvalCreateIndex: count('Index of its entry'),
    DeploymentModifyIndex: count('Of the deployment'),
    RevertedJobVersion: nullable(count('The version that the job goes back to')),
    Index: count('Index of the log entry'),
  },
  { title: 'DeploymentChange' },
)
