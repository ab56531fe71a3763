/** Why allocations went where they did, or nowhere, as clients read it: of evaluations and of allocations. */
import { scoreName, type Metrics } from './model.ts'

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
    ScoreMetaData: scoresByNode(metrics.scores),
    AllocationTime: metrics.tookUs * 1_000,
    CoalescedFailures: metrics.coalescedFailures,
  }
}

function countsOrNull(counts: readonly (readonly [string, number])[]) {
  return counts.length === 0 ? null : Object.fromEntries(counts)
}

/** In the order of the rows: the best node first. As in Nomad what a node got in all is beside its scores. */
function scoresByNode(scores: Metrics['scores']) {
  if (scores.length === 0) return null
  return [...Map.groupBy(scores, ([node]) => node)].map(([NodeID, ofNode]) => {
    const named = ofNode.map(([, name, score]) => [name, score / 1e6] as const)
    return {
      NodeID,
      Scores: Object.fromEntries(named.filter(([name]) => name !== scoreName)),
      NormScore: new Map(named).get(scoreName) ?? 0,
    }
  })
}
