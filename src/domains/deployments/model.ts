/**
 * Deployments: how the allocations of one version of a service or system job take the place of those before it, group by group. The scheduler
 * makes one with the first plan of a version that changes something; reports of health are counted in it, and it ends well or badly.
 *
 * `deployments` may import `namespaces`, `evaluations`, `jobs`, `rpc`, `fsm`, `api` and `lib`. Allocations name their deployment, and
 * write its counts, so this domain knows none of them.
 */
import { Type, type Static } from 'typebox'
import { Count, indexes, record } from '../../fsm/row-schema.ts'
import { TimeMs } from '../define.ts'
import { GroupName, JobId, NamespaceName, RowId } from '../evaluations/model.ts'

export { defaultNamespace } from '../namespaces/model.ts'

const groupsMax = 256
/** Of a group, the last ones. */
export const canariesListedMax = 128
const Text = Type.String({ maxLength: 1_024 })

export const deploymentStatuses = [
  'running',
  'paused',
  'failed',
  'successful',
  'cancelled',
] as const

/** What is wanted of a group. */
const wanted = {
  group: GroupName,
  autoRevert: Type.Boolean(),
  autoPromote: Type.Boolean(),
  /** In which one more allocation has to become healthy; 0: the first unhealthy one fails the deployment. */
  progressDeadlineMs: TimeMs,
  /** 0: it has none. */
  desiredCanaries: Count,
  desiredTotal: Count,
}

/** As a plan has it. */
export const NewDeployment = record({
  id: RowId,
  groups: Type.Array(record(wanted), { maxItems: groupsMax }),
})
export type NewDeployment = Readonly<Static<typeof NewDeployment>>

const GroupState = record({
  ...wanted,
  /** Null: nothing was placed yet. */
  requireProgressByMs: Type.Union([Type.Null(), TimeMs]),
  promoted: Type.Boolean(),
  placedCanaries: Type.Array(RowId, { maxItems: canariesListedMax }),
  placed: Count,
  /** That are healthy now; `unhealthy`: that ever were not. */
  healthy: Count,
  unhealthy: Count,
  healthyCanaries: Count,
})
export type GroupState = Readonly<Static<typeof GroupState>>

export const DeploymentRow = record({
  id: RowId,
  namespace: NamespaceName,
  jobId: JobId,
  jobCreateIndex: Count,
  jobVersion: Count,
  /** Of the job when it was made. */
  jobModifyIndex: Count,
  jobSpecModifyIndex: Count,
  evalPriority: Type.Integer({ minimum: 1, maximum: 100 }),
  groups: Type.Array(GroupState, { maxItems: groupsMax }),
  status: Type.Enum([...deploymentStatuses]),
  statusDescription: Text,
  createMs: TimeMs,
  modifyMs: TimeMs,
  ...indexes,
})
export type DeploymentRow = Readonly<Static<typeof DeploymentRow>>

/** How the scheduler ends one. */
export const DeploymentEnd = record({
  id: RowId,
  status: Type.Enum(['successful', 'cancelled']),
  statusDescription: Text,
})
export type DeploymentEnd = Readonly<Static<typeof DeploymentEnd>>

/** It goes on, or may. */
export function isActive({ status }: Pick<DeploymentRow, 'status'>): boolean {
  return status === 'running' || status === 'paused'
}

/** Its canaries stand beside what was there before, and nothing else is replaced. */
export function isCanarying({
  desiredCanaries,
  promoted,
}: Pick<GroupState, 'desiredCanaries' | 'promoted'>): boolean {
  return desiredCanaries > 0 && !promoted
}

/** All that it wants is there and healthy. */
export function isFulfilled({ groups }: Pick<DeploymentRow, 'groups'>): boolean {
  return groups.every((group) => !isCanarying(group) && group.healthy >= group.desiredTotal)
}

/** As Nomad's tools know them. */
export const descriptions = {
  running: 'Deployment is running',
  needsPromotion: 'Deployment is running but requires manual promotion',
  awaitsPromotion: 'Deployment is running pending automatic promotion',
  paused: 'Deployment is paused',
  successful: 'Deployment completed successfully',
  jobStopped: 'Cancelled because job is stopped',
  newerJob: 'Cancelled due to newer version of job',
  unhealthy: 'Failed due to unhealthy allocations',
  noProgress: 'Failed due to progress deadline',
  markedFailed: 'Deployment marked as failed',
} as const
