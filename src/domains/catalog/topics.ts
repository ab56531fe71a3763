/** What readers of events are told of nodes, services and checks. They are in no namespace. */
import { leastForNodes, leastForServices, readsNode, readsService } from './listing.ts'
import type { CheckRow, NodeRow, ServiceRow } from './model.ts'
import { shownCheck, shownNode, shownService } from './shown.ts'
import { catalogChecks, catalogNodes, catalogServices } from './table.ts'

const everywhere = { requires: null, inKeyOrder: false } as const

export const nodeTopic = {
  ...everywhere,
  name: 'Node',
  least: leastForNodes,
  table: catalogNodes,
  types: { written: 'NodeRegistration', removed: 'NodeDeregistration' },
  describe: (row: NodeRow) => ({
    key: row.name,
    namespace: '',
    filterKeys: row.id === null ? [] : [row.id],
    modifyIndex: row.modifyIndex,
    payload: { Node: shownNode(row) },
    requires: [readsNode(row.name)],
  }),
}

export const serviceTopic = {
  ...everywhere,
  name: 'Service',
  least: leastForServices,
  table: catalogServices,
  types: { written: 'ServiceRegistration', removed: 'ServiceDeregistration' },
  describe: (row: ServiceRow) => ({
    key: row.id,
    namespace: '',
    filterKeys: [row.name, row.node],
    modifyIndex: row.modifyIndex,
    payload: { Service: { Node: row.node, ...shownService(row) } },
    requires: [readsNode(row.node), readsService(row.name)],
  }),
}

export const checkTopic = {
  ...everywhere,
  name: 'Check',
  least: leastForNodes,
  table: catalogChecks,
  types: { written: 'CheckRegistration', removed: 'CheckDeregistration' },
  describe: (row: CheckRow) => ({
    key: row.id,
    namespace: '',
    filterKeys: row.serviceId === '' ? [row.node] : [row.node, row.serviceId, row.serviceName],
    modifyIndex: row.modifyIndex,
    payload: { Check: shownCheck(row) },
    requires:
      row.serviceId === ''
        ? [readsNode(row.node)]
        : [readsNode(row.node), readsService(row.serviceName)],
  }),
}
