/** Rows of allocations, by id. */
import type { Table } from '../../fsm/domain.ts'
import { AllocationRow, isClientTerminal, isTerminal, takesPlace } from './model.ts'

/** In the keys of `liveByName`. */
export const canaryMark = 'canary'

export const allocations: Table<AllocationRow> = {
  name: 'allocations',
  row: AllocationRow,
  key: ({ id }) => [id],
  indexes: {
    byJob: ({ namespace, jobId }) => [namespace, jobId],
    /** By the time of the last change. */
    ended: (row) => (isClientTerminal(row) ? [row.modifyMs] : null),
    byEval: ({ evalId }) => [evalId],
    byDeployment: ({ deploymentId }) => (deploymentId === undefined ? null : [deploymentId]),
    byNode: ({ nodeId }) => [nodeId],
    /** What still takes a part of the node. All that its agent asks for first is in the key. */
    onNode: (row) => (takesPlace(row) ? [row.nodeId, row.allocModifyIndex] : null),
    /**
     * Those that are to run and have not ended: of a name there is one, but for system jobs, which have one on each node, and
     * for canaries. One that is cut off with its node leaves its name to another.
     */
    liveByName: (row) =>
      isTerminal(row) || row.clientStatus === 'unknown'
        ? null
        : [row.namespace, row.jobId, row.name, row.nodeId, row.canary === true ? canaryMark : ''],
    /** A version of a job that is not the newest is being replaced while one of these is there. */
    liveByVersion: (row) =>
      isTerminal(row) ? null : [row.namespace, row.jobId, row.jobCreateIndex, row.jobVersion],
    /** Of a version of a job, which is kept for them. */
    byVersion: ({ namespace, jobId, jobCreateIndex, jobVersion }) => [
      namespace,
      jobId,
      jobCreateIndex,
      jobVersion,
    ],
  },
}
