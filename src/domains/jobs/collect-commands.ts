/** Jobs that are over are forgotten, with what was asked of their counts. Their versions go when no allocation runs them any more. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { Count } from '../../fsm/row-schema.ts'
import { defineCommand, removeRow, replace } from '../define.ts'
import {
  JobId,
  keyOfJob,
  NamespaceName,
  settledWorkloadsVersion,
  workloadsVersion,
} from '../evaluations/model.ts'
import { jobOf, parentOf, scalingsOf } from './queries.ts'
import type { ScalingRow } from './scale-model.ts'
import { withChildren, type Moved } from './state-model.ts'
import { isOver, jobs, scalings, type JobRow } from './table.ts'

export const jobsCollectedMax = 128
/** Of an entry. Jobs that find no room in it go with a later one; the first always does. */
const scalingsCollectedMax = 1_024

type Collected = {
  readonly row: JobRow
  readonly parent: JobRow | null
  readonly scaled: readonly ScalingRow[]
}

/** `modifyIndex`: of the row as the proposer saw it, which looked at the job's allocations. One that moved since then stays. */
const Seen = Type.Object({ namespace: NamespaceName, id: JobId, modifyIndex: Count })

export const collectJobs = defineCommand({
  type: 'jobs.collect',
  since: workloadsVersion,
  args: Type.Object({ jobs: Type.Array(Seen, { maxItems: jobsCollectedMax }) }),
  load: async (reader, { jobs: seen }) => {
    const found: Collected[] = []
    let scalingCount = 0
    // Programs of the first jobs leave them.
    const forgetsScalings = reader.commandVersion >= settledWorkloadsVersion
    for (const { namespace, id, modifyIndex } of seen) {
      const row = jobOf(reader, namespace, id)
      if (row === null || row.modifyIndex !== modifyIndex || !isOver(row)) continue
      const scaled = forgetsScalings ? await scalingsOf(reader, namespace, id) : []
      scalingCount += scaled.length
      if (found.length > 0 && scalingCount > scalingsCollectedMax) break
      found.push({ row, parent: parentOf(reader, row), scaled })
    }
    return found
  },
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
      changes: [
        ...found.map(({ row }) => removeRow(jobs, row)),
        ...found.flatMap(({ scaled }) => scaled.map((one) => removeRow(scalings, one))),
        ...parents,
      ],
      outcome: { count: found.length },
    }
  },
})

function keyOf({ namespace, id: jobId }: JobRow): string {
  return keyOfJob({ namespace, jobId })
}
