/** A planned drain as clients read it. */
import { shownMetrics } from '../evaluations/metrics-model.ts'
import type { DrainPlanned } from './drain-plan-methods.ts'

export function shownDrainPlan({ node, plan }: DrainPlanned) {
  return {
    NodeID: node,
    Allocations: plan.map(({ row, action, reason, to, metrics }) => ({
      ID: row.id,
      Name: row.name,
      Namespace: row.namespace,
      JobID: row.jobId,
      TaskGroup: row.group,
      Action: action,
      Reason: reason,
      NodeID: to?.id ?? '',
      NodeName: to?.name ?? '',
      Metrics: metrics === null ? null : shownMetrics(metrics),
    })),
  }
}
