/**
 * What readers of events are told of client nodes. The topic has the name of the catalog's, which tells of the same machines; types
 * tell them apart.
 */
import type { NodeRow } from './model.ts'
import { leastForNodes, readsNode } from './rights.ts'
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
