/** Reads of allocations. */
import type { Key, Reader } from '../../fsm/domain.ts'
import { decodeNumber, encodeKey, numberLength, stringsOfKey } from '../../fsm/keys.ts'
import { isCanarying } from '../deployments/model.ts'
import { deploymentById } from '../deployments/queries.ts'
import type { JobKey } from '../evaluations/model.ts'
import type { JobSpec } from '../jobs/model.ts'
import { jobOf, versionOf } from '../jobs/queries.ts'
import type { JobRow, JobVersionRow } from '../jobs/table.ts'
import type { AllocationRow } from './model.ts'
import { allocations, canaryMark } from './table.ts'
import { LiveNames, type LiveName } from './live-names-model.ts'
import { takenOfNodes, type TakenRow } from './taken-model.ts'

type Rows = AsyncIterable<readonly AllocationRow[]>

export function allocationById(reader: Reader, id: string): AllocationRow | null {
  return reader.get(allocations, [id]) ?? null
}

/** Moves with every allocation that is written. */
export function allocationsIndex(reader: Reader): number {
  return reader.tableIndex(allocations)
}

/** The version of its job that it runs; null: it is gone. */
export function versionOfAllocation(
  reader: Reader,
  { namespace, jobId: id, jobCreateIndex, jobVersion: version }: AllocationRow,
): JobVersionRow | null {
  return versionOf(reader, { namespace, id, jobCreateIndex, version })
}

/** By allocation, what the version of its job that it runs says, looked up once for each; null: it is gone. */
export function specsOf(reader: Reader): (row: AllocationRow) => JobSpec | null {
  const known = new Map<string, JobSpec | null>()
  return (row) => {
    const key = `${row.jobCreateIndex} ${row.jobVersion} ${row.namespace} ${row.jobId}`
    const found = known.get(key)
    if (found !== undefined) return found
    const spec = versionOfAllocation(reader, row)?.spec ?? null
    known.set(key, spec)
    return spec
  }
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

/** Of those, what `onNode` knows: the earliest changed first. */
export async function* placesOnNode(
  reader: Reader,
  nodeId: string,
): AsyncGenerator<readonly (readonly [id: string, allocModifyIndex: number])[]> {
  const numberAt = encodeKey([nodeId]).length
  const idAt = numberAt + numberLength
  for await (const page of reader.keysBy(allocations, 'onNode', { prefix: [nodeId] })) {
    yield page.map((key) => {
      const [id = ''] = stringsOfKey(key.slice(idAt))
      return [id, decodeNumber(key, numberAt)]
    })
  }
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

/** Those that are to run and have not ended, as far as their nodes are not cut off. */
export function liveAllocationsOfJob(reader: Reader, { namespace, jobId }: JobKey): Rows {
  return reader.pagesBy(allocations, 'liveByName', { prefix: [namespace, jobId] })
}

export function allocationsOfEvaluation(reader: Reader, id: string): Rows {
  return reader.pagesBy(allocations, 'byEval', { prefix: [id] })
}

/** Also those that ended. */
export function allocationsOfDeployment(reader: Reader, id: string): Rows {
  return reader.pagesBy(allocations, 'byDeployment', { prefix: [id] })
}

/** It stands beside what it may replace: its deployment has not promoted it. */
export function isUnpromotedCanary(
  reader: Reader,
  { canary, deploymentId, group }: Pick<AllocationRow, 'canary' | 'deploymentId' | 'group'>,
): boolean {
  if (canary !== true || deploymentId === undefined) return false
  const states = deploymentById(reader, deploymentId)?.groups
  return states?.some((state) => state.group === group && isCanarying(state)) === true
}

/** The oldest first, from a place in that index on; null: its begin. */
export function endedAllocations(reader: Reader, from: Key | null): Rows {
  return reader.pagesBy(allocations, 'ended', from === null ? {} : { from })
}

/** In the order of their ids. */
export function allocationsWithPrefix(reader: Reader, prefix: string): Rows {
  return reader.pages(allocations, { startsWith: prefix })
}

/** Up to so many names are looked for one by one; for more, the names of all that live are read. */
const singleNamesMax = 4

/** Which of these names have one that is to run and has not ended, besides those of `except`. */
export async function namesTaken(
  reader: Reader,
  { namespace, jobId }: JobKey,
  names: readonly LiveName[],
  except: ReadonlySet<string>,
): Promise<LiveNames> {
  const ofJob = [namespace, jobId]
  const fronts = names.length <= singleNamesMax ? names.map((name) => [...ofJob, ...name]) : [ofJob]
  const taken = new LiveNames()
  for (const prefix of fronts) {
    for await (const page of reader.keysBy(allocations, 'liveByName', { prefix })) {
      for (const key of page) {
        const [, , name = '', nodeId = '', mark = '', id = ''] = stringsOfKey(key)
        if (except.has(id)) continue
        const beside = mark === canaryMark ? deploymentOfCanary(reader, id) : ''
        taken.add([name], beside)
        taken.add([name, nodeId], beside)
      }
    }
  }
  return taken
}

/** The deployment that has not promoted it; '': there is none. */
function deploymentOfCanary(reader: Reader, id: string): string {
  const row = allocationById(reader, id)
  return row !== null && isUnpromotedCanary(reader, row) ? (row.deploymentId ?? '') : ''
}

/** By node, what its allocations take of it; none, where there are no such. */
export function takenOf(reader: Reader, nodeIds: Iterable<string>): ReadonlyMap<string, TakenRow> {
  const taken = new Map<string, TakenRow>()
  for (const id of nodeIds) {
    const row = reader.get(takenOfNodes, [id])
    if (row !== undefined) taken.set(id, row)
  }
  return taken
}

/** Whether one of another version than the job's newest is to run and has not ended. */
export async function hasOlderVersion(reader: Reader, job: JobRow): Promise<boolean> {
  const ofJob = encodeKey([job.namespace, job.id])
  const newest = encodeKey([job.namespace, job.id, job.createIndex, job.version])
  const first = await reader.nextBy(allocations, 'liveByVersion', [job.namespace, job.id])
  return first !== null && first.startsWith(ofJob) && !first.startsWith(newest)
}
