/** Jobs beside their allocations: rows of jobs follow what becomes of those, in the same entry. */
import type { Change, Reader } from '../../fsm/domain.ts'
import { replace } from '../define.ts'
import { keyOfJob, type JobKey } from '../evaluations/model.ts'
import { hasOpenEvaluation } from '../evaluations/queries.ts'
import { jobOf, parentOf } from '../jobs/queries.ts'
import { withChildren, withWork, type CountChange, type Moved } from '../jobs/state-model.ts'
import { jobs, type JobRow } from '../jobs/table.ts'

/** As an entry finds it. `openEvaluations`: one is open that the entry does not write; false where nobody needs to know. */
export type WorkingJob = {
  readonly row: JobRow
  readonly openEvaluations: boolean
  /** That started it, and counts it; null: none does. */
  readonly parent: JobRow | null
}

/**
 * The jobs of these, by `keyOfJob`. `written`: ids of the evaluations that the entry writes. `runsOn`: something of the job lives
 * after the entry for certain, so that its status does not depend on evaluations.
 */
export async function workingJobs(
  reader: Reader,
  keys: Iterable<JobKey>,
  written: ReadonlySet<string>,
  runsOn: (key: JobKey) => boolean = () => false,
): Promise<ReadonlyMap<string, WorkingJob>> {
  const found = new Map<string, WorkingJob>()
  for (const key of keys) {
    const id = keyOfJob(key)
    if (found.has(id)) continue
    const row = jobOf(reader, key.namespace, key.jobId)
    if (row === null) continue
    const openEvaluations = !runsOn(key) && (await hasOpenEvaluation(reader, key, written))
    found.set(id, { row, openEvaluations, parent: parentOf(reader, row) })
  }
  return found
}

/** What an entry does to one job, besides rows of its allocations. */
export class JobWork {
  readonly counts: CountChange[] = []
  queued: readonly (readonly [group: string, count: number])[] | null = null
  openEvaluations = false
  /** A version whose deployment was successful; null: none was. */
  stableVersion: number | null = null

  after({ row, openEvaluations }: WorkingJob, index: number): JobRow {
    const { counts, queued } = this
    const work = { counts, queued, openEvaluations: openEvaluations || this.openEvaluations }
    const worked = withWork(row, work, index)
    const { stableVersion } = this
    return stableVersion === null ? worked : { ...worked, stableVersion, modifyIndex: index }
  }
}

/** Of an entry: the jobs that it worked on, both by `keyOfJob`, and those that started them. */
export function jobChanges(
  works: ReadonlyMap<string, JobWork>,
  found: ReadonlyMap<string, WorkingJob>,
  index: number,
): readonly Change[] {
  const changes: Change[] = []
  const parents = new Map<string, { readonly row: JobRow; readonly moved: Moved[] }>()
  for (const [id, work] of works) {
    const job = found.get(id)
    if (job === undefined) continue
    const { row: before, parent } = job
    const after = work.after(job, index)
    if (after === before) continue
    changes.push(replace(jobs, before, after))
    if (parent === null) continue
    const key = keyOfJob({ namespace: parent.namespace, jobId: parent.id })
    const entry = parents.get(key) ?? { row: parent, moved: [] }
    parents.set(key, entry)
    entry.moved.push({ before, after })
  }
  for (const { row, moved } of parents.values()) {
    const after = withChildren(row, moved, index)
    if (after !== row) changes.push(replace(jobs, row, after))
  }
  return changes
}
