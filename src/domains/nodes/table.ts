/** Rows of client nodes, by id. */
import type { Table } from '../../fsm/domain.ts'
import { NodeRow } from './model.ts'

export const nodes: Table<NodeRow> = {
  name: 'nodes',
  row: NodeRow,
  key: ({ id }) => [id],
}
