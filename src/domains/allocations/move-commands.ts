/** Allocations that are to leave their nodes: an operator stops one, or a node is drained. The scheduler stops and replaces them. */
import { Type } from 'typebox'
import type { Applied } from '../../fsm/domain.ts'
import { defineCommand, put, replace, TimeMs } from '../define.ts'
import { derivedId, IdOrNone, RowId, workloadsVersion, keyOfJob } from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'
import { evaluationOf } from '../jobs/job-evaluation-model.ts'
import { isClientTerminal, type AllocationRow } from './model.ts'
import { allocationById } from './queries.ts'
import { allocations } from './table.ts'
import { jobChanges, JobWork, workingJobs } from './work-commands.ts'

export const movedMax = 256

export type MoveOutcome = {
  /** What had ended, or was marked already, is not in it; but where only now it is to skip its delays. */
  readonly moved: readonly string[]
  readonly evaluations: readonly string[]
  readonly nodes: readonly string[]
}

export const moveAllocations = defineCommand({
  type: 'allocations.move',
  since: workloadsVersion,
  args: Type.Object({
    ids: Type.Array(RowId, { maxItems: movedMax }),
    trigger: Type.Enum(['alloc-stop', 'node-drain']),
    /** That is drained; '': none is. */
    nodeId: IdOrNone,
    /** See the row. */
    skipsDelay: Type.Optional(Type.Literal(true)),
    nowMs: TimeMs,
  }),
  load: async (reader, { ids, skipsDelay = false }) => {
    const rows = [...new Set(ids)].flatMap((id) => {
      const row = allocationById(reader, id)
      if (row === null || isClientTerminal(row)) return []
      const isStopping = row.migrate || row.desiredStatus !== 'run'
      return isStopping && (!skipsDelay || row.skipsDelay === true) ? [] : [row]
    })
    return { rows, jobs: await workingJobs(reader, rows, new Set(), () => true) }
  },
  apply: (
    { index },
    { trigger, nodeId, skipsDelay, nowMs },
    { rows, jobs },
  ): Applied<MoveOutcome> => {
    const at = { modifyMs: nowMs, modifyIndex: index, allocModifyIndex: index }
    const moving = { migrate: true, ...(skipsDelay === true && { skipsDelay }) }
    const work = new JobWork()
    work.openEvaluations = true
    const concerned = [...jobs.values()].filter(({ row }) => rows.some((one) => isOf(one, row)))
    const moment = { index, nowMs }
    const made = concerned.map(({ row: job }) => {
      const id = derivedId(moment, trigger, nodeId, job.namespace, job.id)
      const ofNode = { nodeId, nodeModifyIndex: nodeId === '' ? 0 : index }
      return evaluationOf(job, { id, triggeredBy: trigger, ...ofNode }, moment)
    })
    return {
      changes: [
        ...rows.map((row) => replace(allocations, row, { ...row, ...at, ...moving })),
        ...made.map((row) => put(evaluations, row)),
        ...jobChanges(new Map([...jobs.keys()].map((key) => [key, work])), jobs, index),
      ],
      outcome: {
        moved: rows.map(({ id }) => id),
        evaluations: made.map(({ id }) => id),
        nodes: [...new Set(rows.map((row) => row.nodeId))],
      },
    }
  },
})

function isOf(
  row: AllocationRow,
  { namespace, id }: { readonly namespace: string; readonly id: string },
) {
  return keyOfJob(row) === keyOfJob({ namespace, jobId: id })
}
