/** What drains look at: the nodes, what is left on them, and the groups of jobs that it belongs to. */
import type { Reader } from '../../fsm/domain.ts'
import { allOf } from '../../lib/pages.ts'
import {
  allocationsEverOnNode,
  allocationsOnNode,
  jobTypeOf,
  liveAllocationsOfJob,
} from '../allocations/queries.ts'
import type { AllocationRow } from '../allocations/model.ts'
import { keyOfJob } from '../evaluations/model.ts'
import { isBatchType } from '../evaluations/job-type-model.ts'
import { jobOf, newestVersionOf } from '../jobs/queries.ts'
import { wasForced, type DrainStrategy } from '../nodes/model.ts'
import { nodeById } from '../nodes/queries.ts'
import {
  concernedBy,
  groupKeyOf,
  isJudged,
  type Draining,
  type DrainingNode,
  type GroupRoom,
} from './step-model.ts'

/** A node that is not draining is not in it. */
export async function drainingNodes(
  reader: Reader,
  ids: Iterable<string>,
): Promise<readonly DrainingNode[]> {
  const found: DrainingNode[] = []
  for (const id of ids) {
    const node = nodeById(reader, id)
    if (node === null || node.drain === null) continue
    const left = await leftOn(reader, id)
    const isOver = concernedBy(node.drain, left).length === 0
    found.push({ node, left, hasForced: isOver && (await hasForced(reader, id, node.drain)) })
  }
  return found
}

/** Reads all that was ever on the node: for drains that are over. */
async function hasForced(reader: Reader, node: string, drain: DrainStrategy): Promise<boolean> {
  if (drain.forceMs === null) return false
  for await (const page of allocationsEverOnNode(reader, node)) {
    if (page.some((row) => wasForced(drain, row))) return true
  }
  return false
}

/** What a node has that a drain would move or stop. */
export async function leftOn(reader: Reader, node: string): Promise<readonly Draining[]> {
  const rows = await allOf(allocationsOnNode(reader, node))
  return rows.map((row) => ({ row, kind: kindOf(reader, row) }))
}

/** A job that was purged has its versions, as long as allocations run them. */
function kindOf(reader: Reader, row: AllocationRow): Draining['kind'] {
  const type = jobTypeOf(reader, row) ?? 'service'
  if (type === 'system') return 'system'
  return isBatchType(type) ? 'batch' : 'service'
}

/** Of the groups of services on these nodes. Of a group that is no more, the scheduler stops what is left: none has to stay. */
export async function roomOfGroups(
  reader: Reader,
  nodes: readonly DrainingNode[],
): Promise<ReadonlyMap<string, GroupRoom>> {
  const services = nodes.flatMap(({ left }) => left.filter(({ kind }) => kind === 'service'))
  const jobs = new Map(services.map(({ row }) => [keyOfJob(row), row]))
  const rooms = new Map<string, GroupRoom>()
  for (const { namespace, jobId } of jobs.values()) {
    const job = jobOf(reader, namespace, jobId)
    const spec = job === null ? null : newestVersionOf(reader, job)?.spec
    if (job === null || job.stop || spec === undefined || spec === null) continue
    const judged = new Map<string, number>()
    for await (const page of liveAllocationsOfJob(reader, { namespace, jobId })) {
      for (const row of page) {
        if (isJudged(row)) judged.set(row.group, (judged.get(row.group) ?? 0) + 1)
      }
    }
    for (const { Name: group, Count, Migrate } of spec.TaskGroups) {
      const stay = Math.max(0, Count - Math.max(1, Migrate?.MaxParallel ?? 1))
      const key = groupKeyOf({ namespace, jobId, group })
      rooms.set(key, { judged: judged.get(group) ?? 0, stay })
    }
  }
  return rooms
}
