/** Why allocations went where they did, or nowhere, as clients read it: of evaluations and of allocations. */
import type { Metrics } from './model.ts'

export function shownMetrics(metrics: Metrics) {
  return {
    NodesEvaluated: metrics.nodesEvaluated,
    NodesFiltered: metrics.nodesFiltered,
    NodesExhausted: metrics.nodesExhausted,
    NodesAvailable: Object.fromEntries(metrics.nodesAvailable),
    ClassFiltered: countsOrNull(metrics.classFiltered),
    ConstraintFiltered: countsOrNull(metrics.constraintFiltered),
    ClassExhausted: countsOrNull(metrics.classExhausted),
    DimensionExhausted: countsOrNull(metrics.dimensionExhausted),
    QuotaExhausted: null,
    Scores: Object.fromEntries(
      metrics.scores.map(([node, name, score]) => [`${node}.${name}`, score / 1e6]),
    ),
    AllocationTime: metrics.tookUs * 1_000,
    CoalescedFailures: metrics.coalescedFailures,
  }
}

function countsOrNull(counts: readonly (readonly [string, number])[]) {
  return counts.length === 0 ? null : Object.fromEntries(counts)
}
