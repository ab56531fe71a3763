/** Evaluations as clients read them, and as filters of lists do. */
import { dateText, exactNanoseconds, nanoseconds } from '../../lib/date-text.ts'
import { FilterCompiler } from '../../rpc/filter/filter.ts'
import { shownMetrics } from './metrics-model.ts'
import type { EvaluationRow } from './model.ts'

/** As Go prints a time that there is none of. */
const never = '0001-01-01T00:00:00Z'

export function shownEvaluation(row: EvaluationRow) {
  return {
    ID: row.id,
    Namespace: row.namespace,
    Priority: row.priority,
    Type: row.type,
    TriggeredBy: row.triggeredBy,
    JobID: row.jobId,
    JobModifyIndex: row.jobModifyIndex,
    NodeID: row.nodeId,
    NodeModifyIndex: row.nodeModifyIndex,
    DeploymentID: row.deploymentId ?? '',
    Status: row.status,
    StatusDescription: row.statusDescription,
    Wait: 0,
    WaitUntil: row.waitUntilMs === 0 ? never : dateText(row.waitUntilMs),
    NextEval: row.nextEval,
    PreviousEval: row.previousEval,
    BlockedEval: row.blockedEval,
    RelatedEvals: null,
    FailedTGAllocs:
      row.failed.length === 0
        ? null
        : Object.fromEntries(row.failed.map(([group, metrics]) => [group, shownMetrics(metrics)])),
    QueuedAllocations: Object.fromEntries(row.queued),
    ClassEligibility: row.classes.length === 0 ? null : Object.fromEntries(row.classes),
    EscapedComputedClass: row.escaped,
    SnapshotIndex: row.snapshotIndex,
    CreateIndex: row.createIndex,
    ModifyIndex: row.modifyIndex,
    CreateTime: nanoseconds(row.createMs),
    ModifyTime: nanoseconds(row.modifyMs),
  }
}

/** What a filter is asked of. */
export function filteredEvaluation(row: EvaluationRow) {
  return {
    ...shownEvaluation(row),
    CreateTime: exactNanoseconds(row.createMs),
    ModifyTime: exactNanoseconds(row.modifyMs),
  }
}

export const evaluationFilters = new FilterCompiler({
  ID: 'string',
  Namespace: 'string',
  Priority: 'unsigned',
  Type: 'string',
  TriggeredBy: 'string',
  JobID: 'string',
  JobModifyIndex: 'unsigned',
  NodeID: 'string',
  NodeModifyIndex: 'unsigned',
  DeploymentID: 'string',
  Status: 'string',
  StatusDescription: 'string',
  WaitUntil: 'string',
  NextEval: 'string',
  PreviousEval: 'string',
  BlockedEval: 'string',
  SnapshotIndex: 'unsigned',
  CreateIndex: 'unsigned',
  ModifyIndex: 'unsigned',
  CreateTime: 'integer',
  ModifyTime: 'integer',
})
