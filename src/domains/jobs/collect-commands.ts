/** Jobs that are over are forgotten. Their versions go when no allocation runs them any more. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { defineCommand, removeRow, replace } from '../define.ts'
import { JobId, keyOfJob, NamespaceName, workloadsVersion } from '../evaluations/model.ts'
import { jobOf, parentOf } from './queries.ts'
import { withChildren, type Moved } from './state-model.ts'
import { isOver, jobs, type JobRow } from './table.ts'

export const jobsCollectedMax = 128

/** `modifyIndex`: of the row as the proposer saw it, which looked at the job's allocations. One that moved since then stays. */
const Seen = Type.Object({ namespace: NamespaceName, id: JobId, modifyIndex: Count })

export const collectJobs = defineCommand({
  type: 'jobs.collect',
  since: workloadsVersion,
  args: Type.Object({ jobs: Type.Array(Seen, { maxItems: jobsCollectedMax }) }),
  load: (reader, { jobs: seen }) =>
    seen.flatMap(({ namespace, id, modifyIndex }) => {
      const row = jobOf(reader, namespace, id)
      if (row === null || row.modifyIndex !== modifyIndex || !isOver(row)) return []
      return [{ row, parent: parentOf(reader, row) }]
    }),
  apply: ({ index }, _args, found): Applied<{ readonly count: number }> => {
    const children = new Map<string, { readonly parent: JobRow; readonly moved: Moved[] }>()
    const removed = new Set(found.map(({ row }) => keyOf(row)))
    for (const { row, parent } of found) {
      if (parent === null || removed.has(keyOf(parent))) continue
      const of = children.get(keyOf(parent)) ?? { parent, moved: [] }
      children.set(keyOf(parent), of)
      of.moved.push({ before: row, after: null })
    }
    const parents = [...children.values()].flatMap(({ parent, moved }): Change[] => {
      const after = withChildren(parent, moved, index)
      return after === parent ? [] : [replace(jobs, parent, after)]
    })
    return {
      changes: [...found.map(({ row }) => removeRow(jobs, row)), ...parents],
      outcome: { count: found.length },
    }
  },
})

function keyOf({ namespace, id: jobId }: JobRow): string {
  return keyOfJob({ namespace, jobId })
}
