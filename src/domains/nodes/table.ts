/** Rows of client nodes, by id. */
import type { Table } from '../../fsm/domain.ts'
import { isAway, NodeRow } from './model.ts'

export const awayPrefix = ['away'] as const

export const nodes: Table<NodeRow> = {
  name: 'nodes',
  row: NodeRow,
  key: ({ id }) => [id],
  indexes: {
    away: (row) => (isAway(row) ? awayPrefix : null),
    /** By the storm that it was lost in, and the time. */
    lost: ({ lost }) => (lost === undefined ? null : [lost.storm, lost.timeMs]),
  },
}
