/** Rows of evaluations, by id. */
import type { Table } from '../../fsm/domain.ts'
import { EvaluationRow, isTerminal } from './model.ts'

export const evaluations: Table<EvaluationRow> = {
  name: 'evaluations',
  row: EvaluationRow,
  key: ({ id }) => [id],
  indexes: {
    byJob: ({ namespace, jobId, createIndex }) => [namespace, jobId, createIndex],
    /** Those that are not at their end. */
    open: (row) => (isTerminal(row) ? null : [row.status]),
    /** By the time of the last change. */
    ended: (row) => (isTerminal(row) ? [row.modifyMs] : null),
    openByJob: (row) => (isTerminal(row) ? null : [row.namespace, row.jobId]),
    byNode: ({ nodeId, createIndex }) => (nodeId === '' ? null : [nodeId, createIndex]),
  },
}
