/** Allocations as their agents need them. */
import type { Reader } from '../../fsm/domain.ts'
import { isJobType } from '../evaluations/job-type-model.ts'
import { jobOf } from '../jobs/queries.ts'
import { nodeById } from '../nodes/queries.ts'
import { assignedBytesMax, type Assigned, type ReadReply } from './feed-model.ts'
import type { AllocationRow } from './model.ts'
import { allocationById, isUnpromotedCanary, versionOfAllocation } from './queries.ts'

/** Those of the node, as many as one answer takes. */
export function assignedTo(reader: Reader, nodeId: string, ids: readonly string[]): ReadReply {
  const datacenter = nodeById(reader, nodeId)?.spec.datacenter ?? ''
  const allocations: Assigned[] = []
  let bytes = 0
  for (const [at, id] of ids.entries()) {
    const row = allocationById(reader, id)
    const assigned = row?.nodeId === nodeId ? assignedOf(reader, row, datacenter) : null
    if (assigned === null) continue
    bytes += Buffer.byteLength(JSON.stringify(assigned))
    if (bytes > assignedBytesMax && allocations.length > 0) {
      return { allocations, rest: ids.slice(at) }
    }
    allocations.push(assigned)
  }
  return { allocations, rest: [] }
}

/** null: the version of its job is gone, or has no such group. */
function assignedOf(reader: Reader, row: AllocationRow, datacenter: string): Assigned | null {
  const { namespace, jobId, jobVersion } = row
  const version = versionOfAllocation(reader, row)
  const spec = version?.spec
  const group = spec?.TaskGroups.find(({ Name }) => Name === row.group)
  if (spec === undefined || group === undefined) return null
  const job = jobOf(reader, namespace, jobId)
  const parentId = job?.createIndex === row.jobCreateIndex ? job.parent?.id : undefined
  const takesPayload = group.Tasks.some(({ DispatchPayload }) => DispatchPayload !== null)
  const payload = takesPayload ? version?.payload : undefined
  return {
    id: row.id,
    name: row.name,
    namespace,
    evalId: row.evalId,
    jobId,
    jobName: spec.Name,
    ...(parentId !== undefined && { parentId }),
    jobType: isJobType(spec.Type) ? spec.Type : 'service',
    jobPriority: spec.Priority,
    jobVersion,
    jobMeta: spec.Meta,
    ...(payload !== undefined && { payload }),
    region: spec.Region,
    datacenter,
    group,
    groupName: row.group,
    resources: row.resources,
    desiredStatus: row.desiredStatus,
    migrate: row.deploymentId === undefined && group.Migrate !== null,
    ...(row.skipsDelay === true && { skipsDelay: true }),
    ...(row.clientStatus === 'unknown' && { isUnknown: true }),
    ...(isUnpromotedCanary(reader, row) && { canary: true }),
    previous: row.previous,
    ...(row.preempts !== undefined && { preempts: row.preempts }),
    createMs: row.createMs,
    allocModifyIndex: row.allocModifyIndex,
    ...(reader.cluster.id !== '' && {
      state: { cluster: reader.cluster.id, index: reader.appliedIndex },
    }),
  }
}
