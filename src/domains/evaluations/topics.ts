/** What readers of events are told of evaluations. */
import type { EvaluationRow } from './model.ts'
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { shownEvaluation } from './shown.ts'
import { evaluations } from './table.ts'

export const evaluationTopic = {
  name: 'Evaluation',
  least: leastForNamespaces,
  table: evaluations,
  types: { written: 'EvaluationUpdated', removed: 'EvaluationDeleted' },
  requires: null,
  inKeyOrder: false,
  describe: (row: EvaluationRow) => ({
    key: row.id,
    namespace: row.namespace,
    filterKeys: [row.jobId],
    modifyIndex: row.modifyIndex,
    payload: { Evaluation: shownEvaluation(row) },
    requires: [inNamespace(row.namespace, 'read-job')],
  }),
}
