/** What runs on a node for other jobs, as the scheduler weighs what may end for a job of higher priority. */
import type { Reader } from '../../fsm/domain.ts'
import { isTerminal } from '../allocations/model.ts'
import { allocationById, specsOf } from '../allocations/queries.ts'
import { keyOfJob, type JobKey } from '../evaluations/model.ts'
import type { OtherWork } from '../../scheduler/preempt.ts'

/** Of these ids; what is moving away already is left out. */
export function otherWork(reader: Reader, ids: Iterable<string>, own: JobKey): OtherWork[] {
  const specOf = specsOf(reader)
  return [...ids].flatMap((id) => {
    const row = allocationById(reader, id)
    if (row === null || isTerminal(row) || row.migrate || keyOfJob(row) === keyOfJob(own)) return []
    const spec = specOf(row)
    if (spec === null) return []
    const group = spec.TaskGroups.find(({ Name }) => Name === row.group)
    return [
      {
        id,
        group: `${keyOfJob(row)} ${row.group}`,
        priority: spec.Priority,
        movesMax: group?.Migrate?.MaxParallel ?? 0,
        resources: row.resources,
      },
    ]
  })
}
