/**
 * What readers of events are told of client nodes, and of the storm brake. The topic of nodes has the name of the catalog's, which tells of the same machines; types
 * tell them apart.
 */
import type { BrakeRow } from './brake-model.ts'
import { shownBrakeEvent } from './brake-shown.ts'
import { stormBrake } from './brake-table.ts'
import type { NodeRow } from './model.ts'
import { leastForNodes, readsNode, readsOperator } from './rights.ts'
import { shownNode } from './shown.ts'
import { nodes } from './table.ts'

export const clientNodeTopic = {
  name: 'Node',
  least: leastForNodes,
  table: nodes,
  types: { written: 'NodeUpserted', removed: 'NodePurged' },
  requires: null,
  inKeyOrder: false,
  describe: (row: NodeRow) => ({
    key: row.id,
    namespace: '',
    filterKeys: [row.spec.name],
    modifyIndex: row.modifyIndex,
    payload: { Node: shownNode(row) },
    requires: [readsNode(row.spec.name)],
  }),
}

/** When it goes on and off, and when it is set. */
export const stormBrakeTopic = {
  name: 'Operator',
  least: [readsOperator],
  table: stormBrake,
  types: { written: 'StormBrakeUpdated', removed: 'StormBrakeDeleted' },
  requires: null,
  inKeyOrder: false,
  describe: (row: BrakeRow) => ({
    key: 'storm-brake',
    namespace: '',
    filterKeys: [],
    modifyIndex: row.modifyIndex,
    payload: { StormBrake: shownBrakeEvent(row) },
    requires: [readsOperator],
  }),
}
