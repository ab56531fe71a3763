/**
 * What a node that changes means for jobs: those that have work there are looked at again, and those that run on every node where it
 * may take work. A scheduler worker finds out what is to be done; nothing is lost or placed here.
 */
import type { AnyReaction, Change, Moment, Reader } from '../../fsm/domain.ts'
import { defineReaction } from '../../fsm/fact.ts'
import { put } from '../define.ts'
import {
  derivedId,
  isTerminal,
  newEvaluation,
  workloadsVersion,
  type NewEvaluation,
} from '../evaluations/model.ts'
import { evaluationById } from '../evaluations/queries.ts'
import { evaluations } from '../evaluations/table.ts'
import { jobOf, versionOf } from '../jobs/queries.ts'
import { jobs, type JobRow } from '../jobs/table.ts'
import { nodeChanged, nodeOffers } from '../nodes/fact-model.ts'
import type { AllocationRow } from './model.ts'
import { allocations } from './table.ts'
import { keyOfJob } from './work-commands.ts'

type JobSeed = Pick<NewEvaluation, 'namespace' | 'jobId' | 'type' | 'priority' | 'jobModifyIndex'>

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
    react: (reader, moment, { node }, rows) => ({
      changes: evaluated(reader, moment, node, rows.map(seedOf(reader))),
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
    react: (reader, moment, { node }, rows) => ({
      changes: evaluated(reader, moment, node, rows.map(seedOfJob)),
      happened: [],
    }),
  }),
]

/** One for each job, however many of its allocations are there. */
function evaluated(
  reader: Reader,
  moment: Moment,
  node: string,
  seeds: readonly (JobSeed | null)[],
): readonly Change[] {
  const byJob = new Map<string, JobSeed>()
  for (const seed of seeds) if (seed !== null) byJob.set(keyOfJob(seed), seed)
  return [...byJob.values()].map((seed) => {
    const made = newEvaluation({
      ...seed,
      id: idOf(reader, moment, node, seed),
      triggeredBy: 'node-update',
      nodeId: node,
      nodeModifyIndex: moment.index,
      nowMs: moment.nowMs,
    })
    return put(evaluations, { ...made, createIndex: moment.index, modifyIndex: moment.index })
  })
}

/** The same for all rows of the entry. Where a later entry goes on and the first one is at its end, the job is looked at once more. */
function idOf(reader: Reader, moment: Moment, node: string, { namespace, jobId }: JobSeed): string {
  const about = ['node-update', node, namespace, jobId]
  const id = derivedId(moment, ...about)
  const before = evaluationById(reader, id)
  return before === null || !isTerminal(before)
    ? id
    : derivedId(moment, ...about, String(reader.appliedIndex))
}

/** A job that was purged has what is left of its versions. */
function seedOf(reader: Reader): (row: AllocationRow) => JobSeed | null {
  return ({ namespace, jobId, jobCreateIndex, jobVersion }) => {
    const job = jobOf(reader, namespace, jobId)
    if (job !== null) return seedOfJob(job)
    const key = { namespace, id: jobId, jobCreateIndex, version: jobVersion }
    const spec = versionOf(reader, key)?.spec
    if (spec === undefined) return null
    const { Type: word, Priority: priority } = spec
    const type = word === 'batch' || word === 'system' || word === 'sysbatch' ? word : 'service'
    return { namespace, jobId, type, priority, jobModifyIndex: 0 }
  }
}

function seedOfJob({ namespace, id, type, priority, jobModifyIndex }: JobRow): JobSeed {
  return { namespace, jobId: id, type, priority, jobModifyIndex }
}
