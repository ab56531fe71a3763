/** What methods of jobs need of the domain that has their allocations. */
import type { LeaderContext } from '../../rpc/method.ts'
import { serviceKey } from '../../rpc/services.ts'
import type { JobRow } from './table.ts'

export type FailedWork = {
  /** Marks what failed of these groups, so that the next evaluation of the job places it anew. */
  readonly reschedule: (
    context: LeaderContext,
    job: JobRow,
    groups: ReadonlySet<string>,
  ) => Promise<void>
}

export const failedWork = serviceKey<FailedWork>('jobs.failedWork')
