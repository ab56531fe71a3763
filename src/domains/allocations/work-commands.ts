/** Jobs beside their allocations: rows of jobs follow what becomes of those, in the same entry. */
import type { Change, Reader } from '../../fsm/domain.ts'
import { replace } from '../define.ts'
import { hasOpenEvaluation } from '../evaluations/queries.ts'
import { jobOf } from '../jobs/queries.ts'
import { withWork, type CountChange } from '../jobs/state-model.ts'
import { jobs, type JobRow } from '../jobs/table.ts'
import type { AllocationRow } from './model.ts'

type JobKey = Pick<AllocationRow, 'namespace' | 'jobId'>

export function keyOfJob({ namespace, jobId }: JobKey): string {
  return JSON.stringify([namespace, jobId])
}

/** As an entry finds it. `openEvaluations`: one is open that the entry does not write; false where nobody needs to know. */
export type WorkingJob = { readonly row: JobRow; readonly openEvaluations: boolean }

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
    const isOpen = !runsOn(key) && (await hasOpenEvaluation(reader, key, written))
    found.set(id, { row, openEvaluations: isOpen })
  }
  return found
}

/** What an entry does to one job, besides rows of its allocations. */
export class JobWork {
  readonly counts: CountChange[] = []
  queued: readonly (readonly [group: string, count: number])[] | null = null
  openEvaluations = false

  change({ row, openEvaluations }: WorkingJob, index: number): Change[] {
    const { counts, queued } = this
    const work = { counts, queued, openEvaluations: openEvaluations || this.openEvaluations }
    const after = withWork(row, work, index)
    return after === row ? [] : [replace(jobs, row, after)]
  }
}
