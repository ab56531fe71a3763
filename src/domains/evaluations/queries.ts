/** Reads of evaluations. */
import type { Reader } from '../../fsm/domain.ts'
import { evaluations } from './table.ts'
import type { EvaluationRow } from './model.ts'

export function evaluationById(reader: Reader, id: string): EvaluationRow | null {
  return reader.get(evaluations, [id]) ?? null
}

type JobKey = { readonly namespace: string; readonly jobId: string }

/** The oldest first. */
export function evaluationsOfJob(
  reader: Reader,
  { namespace, jobId }: JobKey,
): AsyncIterable<readonly EvaluationRow[]> {
  return reader.pagesBy(evaluations, 'byJob', { prefix: [namespace, jobId] })
}

/** Those of a job that are not at their end. */
export function openEvaluationsOfJob(
  reader: Reader,
  { namespace, jobId }: JobKey,
): AsyncIterable<readonly EvaluationRow[]> {
  return reader.pagesBy(evaluations, 'openByJob', { prefix: [namespace, jobId] })
}

/** Whether an evaluation of the job is pending or blocked, besides those with the ids of `except`. */
export async function hasOpenEvaluation(
  reader: Reader,
  job: JobKey,
  except: ReadonlySet<string>,
): Promise<boolean> {
  for await (const page of openEvaluationsOfJob(reader, job)) {
    if (page.some(({ id }) => !except.has(id))) return true
  }
  return false
}

/** In the order of their ids, those that begin with `prefix`. */
export function evaluationsWithPrefix(
  reader: Reader,
  prefix: string,
): AsyncIterable<readonly EvaluationRow[]> {
  return reader.pages(evaluations, { startsWith: prefix })
}
