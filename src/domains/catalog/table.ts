/** Rows of nodes, services and checks, by the node's name in lower case. */
import type { Table } from '../../fsm/domain.ts'
import { CheckRow, keyOfName, NodeRow, ServiceRow } from './model.ts'

export const catalogNodes: Table<NodeRow> = {
  name: 'catalogNodes',
  row: NodeRow,
  key: (row) => [keyOfName(row.name)],
  indexes: {
    byId: (row) => (row.id === null ? null : [row.id]),
  },
}

export const catalogServices: Table<ServiceRow> = {
  name: 'catalogServices',
  row: ServiceRow,
  key: (row) => [keyOfName(row.node), row.id],
  indexes: {
    byName: (row) => [keyOfName(row.name), keyOfName(row.node)],
  },
}

export const catalogChecks: Table<CheckRow> = {
  name: 'catalogChecks',
  row: CheckRow,
  key: (row) => [keyOfName(row.node), keyOfName(row.id)],
  indexes: {
    /** Those of a service; checks of nodes are in no place here. */
    byService: (row) =>
      row.serviceId === '' ? null : [keyOfName(row.serviceName), keyOfName(row.node)],
    byStatus: (row) => [row.status],
  },
}
