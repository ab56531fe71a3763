/** The evaluation of a job, as an entry makes it that leads to one. */
import type { Moment } from '../../fsm/domain.ts'
import { newEvaluation, type EvaluationRow, type EvaluationSeed } from '../evaluations/model.ts'
import type { JobRow } from './table.ts'

/** A job, or what is left of one that was purged. */
export type EvaluatedJob = Pick<JobRow, 'namespace' | 'id' | 'type' | 'priority' | 'jobModifyIndex'>

/** `priority`: another one than that of the job. */
type Made = Pick<
  EvaluationSeed,
  'id' | 'triggeredBy' | 'nodeId' | 'nodeModifyIndex' | 'deploymentId' | 'skipsDelay'
> &
  Partial<Pick<EvaluationSeed, 'priority'>>

export function evaluationOf(
  { namespace, id: jobId, type, priority, jobModifyIndex }: EvaluatedJob,
  made: Made,
  { index, nowMs }: Moment,
): EvaluationRow {
  const job = { namespace, jobId, type, priority, jobModifyIndex }
  return { ...newEvaluation({ ...job, ...made, nowMs }), createIndex: index, modifyIndex: index }
}
