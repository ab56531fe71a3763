/** Rows of deployments, by id. */
import type { Table } from '../../fsm/domain.ts'
import { isActive, type DeploymentRow, DeploymentRow as Row } from './model.ts'

export const deployments: Table<DeploymentRow> = {
  name: 'deployments',
  row: Row,
  key: ({ id }) => [id],
  indexes: {
    byJob: ({ namespace, jobId, createIndex }) => [namespace, jobId, createIndex],
    active: (row) => (isActive(row) ? ['active'] : null),
    /** By the time of the last change. */
    ended: (row) => (isActive(row) ? null : [row.modifyMs]),
  },
}
