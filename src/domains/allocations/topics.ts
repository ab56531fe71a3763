/** What readers of events are told of allocations. */
import type { AllocationRow } from './model.ts'
import { leastForAllocations, readsJobsIn } from './rights.ts'
import { shownAllocation } from './shown.ts'
import { allocations } from './table.ts'

export const allocationTopic = {
  name: 'Allocation',
  least: leastForAllocations,
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
    requires: [readsJobsIn(row.namespace)],
  }),
}
