/** Reads of allocations. */
import type { Key, Reader } from '../../fsm/domain.ts'
import { encodeKey } from '../../fsm/keys.ts'
import { jobOf, versionOf } from '../jobs/queries.ts'
import type { JobRow, JobVersionRow } from '../jobs/table.ts'
import type { AllocationRow } from './model.ts'
import { allocations } from './table.ts'

type Rows = AsyncIterable<readonly AllocationRow[]>
type JobKey = { readonly namespace: string; readonly jobId: string }

export function allocationById(reader: Reader, id: string): AllocationRow | null {
  return reader.get(allocations, [id]) ?? null
}

/** The version of its job that it runs; null: it is gone. */
export function versionOfAllocation(
  reader: Reader,
  { namespace, jobId: id, jobCreateIndex, jobVersion: version }: AllocationRow,
): JobVersionRow | null {
  return versionOf(reader, { namespace, id, jobCreateIndex, version })
}

/** Of its job, as far as anything is left of that. */
export function jobTypeOf(reader: Reader, row: AllocationRow): string | null {
  const job = jobOf(reader, row.namespace, row.jobId)
  return job?.type ?? versionOfAllocation(reader, row)?.spec.Type ?? null
}

/** Those that take a part of the node. */
export function allocationsOnNode(reader: Reader, nodeId: string): Rows {
  return reader.pagesBy(allocations, 'onNode', { prefix: [nodeId] })
}

/** All that take a part of their nodes. */
export function allocationsOnNodes(reader: Reader): Rows {
  return reader.pagesBy(allocations, 'onNode')
}

/** Also those that ended. */
export function allocationsEverOnNode(reader: Reader, nodeId: string): Rows {
  return reader.pagesBy(allocations, 'byNode', { prefix: [nodeId] })
}

/** Also those that ended. */
export function allocationsOfJob(reader: Reader, { namespace, jobId }: JobKey): Rows {
  return reader.pagesBy(allocations, 'byJob', { prefix: [namespace, jobId] })
}

/** Those that are to run and have not ended. */
export function liveAllocationsOfJob(reader: Reader, { namespace, jobId }: JobKey): Rows {
  return reader.pagesBy(allocations, 'liveByName', { prefix: [namespace, jobId] })
}

export function allocationsOfEvaluation(reader: Reader, id: string): Rows {
  return reader.pagesBy(allocations, 'byEval', { prefix: [id] })
}

/** The oldest first, from a place in that index on; null: its begin. */
export function endedAllocations(reader: Reader, from: Key | null): Rows {
  return reader.pagesBy(allocations, 'ended', from === null ? {} : { from })
}

/** In the order of their ids. */
export function allocationsWithPrefix(reader: Reader, prefix: string): Rows {
  return reader.pages(allocations, { startsWith: prefix })
}

/** Whether one that is to run and has not ended has the name, besides those of `except`. `nameKey`: the name, or the name and a node. */
export async function isNameTaken(
  reader: Reader,
  { namespace, jobId }: JobKey,
  nameKey: readonly string[],
  except: ReadonlySet<string>,
): Promise<boolean> {
  const prefix = [namespace, jobId, ...nameKey]
  const next = await reader.nextBy(allocations, 'liveByName', prefix)
  if (next === null || !next.startsWith(encodeKey(prefix))) return false
  for await (const page of reader.pagesBy(allocations, 'liveByName', { prefix })) {
    if (page.some(({ id }) => !except.has(id))) return true
  }
  return false
}

/** Whether one of another version than the job's newest is to run and has not ended. */
export async function hasOlderVersion(reader: Reader, job: JobRow): Promise<boolean> {
  const ofJob = encodeKey([job.namespace, job.id])
  const newest = encodeKey([job.namespace, job.id, job.createIndex, job.version])
  const first = await reader.nextBy(allocations, 'liveByVersion', [job.namespace, job.id])
  return first !== null && first.startsWith(ofJob) && !first.startsWith(newest)
}
