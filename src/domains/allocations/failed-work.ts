/** What failed of a job is marked to be placed anew at once. */
import { chunks } from '../../lib/chunks.ts'
import type { FailedWork } from '../jobs/services.ts'
import { mayBeRescheduled } from './model.ts'
import { allocationsOfJob } from './queries.ts'
import { rescheduleAllocations, rescheduledAtOnceMax } from './reschedule-commands.ts'

export const rescheduleFailed: FailedWork['reschedule'] = async (context, job, groups) => {
  const { namespace, id: jobId, createIndex } = job
  const failed: string[] = []
  for await (const page of allocationsOfJob(context.read(), { namespace, jobId })) {
    for (const row of page) {
      const isOfIt = row.jobCreateIndex === createIndex && groups.has(row.group)
      if (isOfIt && mayBeRescheduled(row)) failed.push(row.id)
    }
  }
  for (const ids of chunks(failed, rescheduledAtOnceMax)) {
    await context.propose(rescheduleAllocations, { ids: [...ids] })
  }
}
