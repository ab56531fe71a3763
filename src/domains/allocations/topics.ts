/** What readers of events are told of allocations. */
import type { AllocationRow } from './model.ts'
import { inNamespace, leastForNamespaces } from '../../rpc/requirements.ts'
import { shownAllocation } from './shown.ts'
import { allocations } from './table.ts'

export const allocationTopic = {
  name: 'Allocation',
  least: leastForNamespaces,
  table: allocations,
  types: { written: 'AllocationUpdated', removed: 'AllocationCollected' },
  requires: null,
  inKeyOrder: false,
  describe: (row: AllocationRow) => ({
    key: row.id,
    namespace: row.namespace,
    filterKeys: [row.jobId, row.evalId, row.nodeId],
    modifyIndex: row.modifyIndex,
    payload: { Allocation: shownAllocation(row) },
    requires: [inNamespace(row.namespace, 'read-job')],
  }),
}
