/**
 * What a node that changes means for jobs: those that have work there are looked at again, and those that run on every node where it
 * may take work. A scheduler worker finds out what is to be done; nothing is lost or placed here.
 */
import type { AnyReaction, Change, Moment, Reader } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { put } from '../define.ts'
import { isJobType } from '../evaluations/job-type-model.ts'
import { derivedId, isTerminal, workloadsVersion, keyOfJob } from '../evaluations/model.ts'
import { evaluationById } from '../evaluations/queries.ts'
import { evaluations } from '../evaluations/table.ts'
import { evaluationOf, type EvaluatedJob } from '../jobs/job-evaluation-model.ts'
import { jobOf } from '../jobs/queries.ts'
import { jobs } from '../jobs/table.ts'
import { nodeChanged, nodeOffers, type AboutNode } from '../nodes/fact-model.ts'
import { nodeById } from '../nodes/queries.ts'
import type { AllocationRow } from './model.ts'
import { versionOfAllocation } from './queries.ts'
import { allocations } from './table.ts'

export const nodeReactions: readonly AnyReaction[] = [
  defineReaction({
    name: 'allocations.ofNode',
    sinceVersion: workloadsVersion,
    on: nodeChanged,
    table: allocations,
    index: 'onNode',
    prefix: ({ node }) => [node],
    since: ({ createIndex }) => createIndex,
    emits: [],
    react: (reader, moment, about, rows) => ({
      changes: evaluated(
        reader,
        moment,
        about,
        rows.flatMap((row) => jobBehind(reader, row) ?? []),
      ),
      happened: [],
    }),
  }),
  defineReaction({
    name: 'allocations.onEveryNode',
    sinceVersion: workloadsVersion,
    on: nodeOffers,
    table: jobs,
    index: 'onEveryNode',
    prefix: () => ['every'],
    since: ({ createIndex }) => createIndex,
    emits: [],
    react: (reader, moment, about, rows) => ({
      changes: evaluated(reader, moment, about, rows),
      happened: [],
    }),
  }),
]

/** One for each job, however many of its allocations are there. */
function evaluated(
  reader: Reader,
  moment: Moment,
  { node, unchanged }: AboutNode,
  jobs: readonly EvaluatedJob[],
): readonly Change[] {
  const byKey = new Map(jobs.map((job) => [keyOfJob({ ...job, jobId: job.id }), job]))
  const nodeModifyIndex =
    (unchanged === true ? nodeById(reader, node)?.modifyIndex : null) ?? moment.index
  const ofNode = { nodeId: node, nodeModifyIndex }
  return [...byKey.values()].map((job) => {
    const id = idOf(reader, moment, node, job)
    const made = { id, triggeredBy: 'node-update', ...ofNode } as const
    return put(evaluations, evaluationOf(job, made, moment))
  })
}

/** The same for all rows of the entry. Where a later entry goes on and the first one is at its end, the job is looked at once more. */
function idOf(reader: Reader, moment: Moment, node: string, job: EvaluatedJob): string {
  const about = ['node-update', node, job.namespace, job.id]
  const id = derivedId(moment, ...about)
  const before = evaluationById(reader, id)
  return before === null || !isTerminal(before)
    ? id
    : derivedId(moment, ...about, String(reader.appliedIndex))
}

/** A job that was purged has what is left of its versions. */
function jobBehind(reader: Reader, row: AllocationRow): EvaluatedJob | null {
  const { namespace, jobId: id } = row
  const job = jobOf(reader, namespace, id)
  if (job !== null) return job
  const spec = versionOfAllocation(reader, row)?.spec
  if (spec === undefined) return null
  const type = isJobType(spec.Type) ? spec.Type : 'service'
  return { namespace, id, type, priority: spec.Priority, jobModifyIndex: 0 }
}
