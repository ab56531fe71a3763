/** Why something was placed where it was, as clients read it. */
import t from 'tap'
import { shownMetrics } from '../../../src/domains/evaluations/metrics-model.ts'
import { MetricsCount } from '../../../src/scheduler/placement-metrics.ts'
import { nodeRow } from '../../scheduler/cluster.ts'
import { scheduledNode } from '../../../src/scheduler/scheduled-node.ts'

t.test('the scores of the best nodes, the best first', async (t) => {
  const count = new MetricsCount()
  const [low, high] = [1, 2].map((number) => scheduledNode(nodeRow(number)))
  if (low === undefined || high === undefined) throw new Error('there are two nodes')
  count.ranked(low, { total: 0.25, scores: [{ name: 'binpack', value: 0.25 }] })
  const scores = [
    { name: 'binpack', value: 1 },
    { name: 'node-affinity', value: -0.5 },
  ]
  count.ranked(high, { total: 0.75, scores })
  const { ScoreMetaData, Scores } = shownMetrics(count.result([], 0))
  t.strictSame(ScoreMetaData, [
    { NodeID: high.id, Scores: { binpack: 1, 'node-affinity': -0.5 }, NormScore: 0.75 },
    { NodeID: low.id, Scores: { binpack: 0.25 }, NormScore: 0.25 },
  ])
  t.equal(Scores[`${low.id}.normalized-score`], 0.25, 'the older member has them all')
})

t.test('where no node was scored there are none', async (t) => {
  t.equal(shownMetrics(new MetricsCount().result([], 0)).ScoreMetaData, null)
})
