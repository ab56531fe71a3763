/** Deployments as clients read them, and as filters of lists do. */
import { dateText, exactNanoseconds, nanoseconds } from '../../lib/date-text.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import type { DeploymentRow, GroupState } from './model.ts'

/** As Go prints a time that there is none of. */
const never = '0001-01-01T00:00:00Z'

export function shownDeployment(row: DeploymentRow) {
  return {
    ID: row.id,
    Namespace: row.namespace,
    JobID: row.jobId,
    JobVersion: row.jobVersion,
    JobModifyIndex: row.jobModifyIndex,
    JobSpecModifyIndex: row.jobSpecModifyIndex,
    JobCreateIndex: row.jobCreateIndex,
    IsMultiregion: false,
    TaskGroups: Object.fromEntries(row.groups.map((group) => [group.group, shownGroup(group)])),
    Status: row.status,
    StatusDescription: row.statusDescription,
    EvalPriority: row.evalPriority,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
    CreateTime: nanoseconds(row.createMs),
    ModifyTime: nanoseconds(row.modifyMs),
  }
}

/** What became of a deployment that was changed. */
export function shownChange(
  index: number,
  change: {
    readonly evaluation: string
    readonly modifyIndex: number
    readonly revertedVersion: number | null
  },
) {
  return {
    EvalID: change.evaluation,
    EvalCreateIndex: change.evaluation === '' ? 0 : index,
    DeploymentModifyIndex: change.modifyIndex,
    RevertedJobVersion: change.revertedVersion,
    Index: index,
  }
}

function shownGroup(group: GroupState) {
  const { requireProgressByMs: by, placedCanaries } = group
  return {
    AutoRevert: group.autoRevert,
    AutoPromote: group.autoPromote,
    ProgressDeadline: nanoseconds(group.progressDeadlineMs),
    RequireProgressBy: by === null ? never : dateText(by),
    Promoted: group.promoted,
    PlacedCanaries: placedCanaries.length === 0 ? null : placedCanaries,
    DesiredCanaries: group.desiredCanaries,
    DesiredTotal: group.desiredTotal,
    PlacedAllocs: group.placed,
    HealthyAllocs: group.healthy,
    UnhealthyAllocs: group.unhealthy,
  }
}

/** What a filter is asked of. */
export function filteredDeployment(row: DeploymentRow) {
  return {
    ...shownDeployment(row),
    CreateTime: exactNanoseconds(row.createMs),
    ModifyTime: exactNanoseconds(row.modifyMs),
  }
}

export const deploymentFilters = new FilterCompiler({
  ID: 'string',
  Namespace: 'string',
  JobID: 'string',
  JobVersion: 'unsigned',
  JobModifyIndex: 'unsigned',
  JobSpecModifyIndex: 'unsigned',
  JobCreateIndex: 'unsigned',
  IsMultiregion: 'boolean',
  Status: 'string',
  StatusDescription: 'string',
  EvalPriority: 'unsigned',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
  CreateTime: 'integer',
  ModifyTime: 'integer',
})
