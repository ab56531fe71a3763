/** Reads of evaluations. */
import type { Key, Reader } from '../../fsm/domain.ts'
import { evaluations } from './table.ts'
import type { EvaluationRow, JobKey } from './model.ts'

export function evaluationById(reader: Reader, id: string): EvaluationRow | null {
  return reader.get(evaluations, [id]) ?? null
}

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

/** All that are pending, or blocked. */
export function openEvaluations(
  reader: Reader,
  status: 'pending' | 'blocked',
): AsyncIterable<readonly EvaluationRow[]> {
  return reader.pagesBy(evaluations, 'open', { prefix: [status] })
}

/** The oldest first, from a place in that index on; null: its begin. */
export function endedEvaluations(
  reader: Reader,
  from: Key | null,
): AsyncIterable<readonly EvaluationRow[]> {
  return reader.pagesBy(evaluations, 'ended', from === null ? {} : { from })
}

/** Moves with every evaluation that is written. */
export function evaluationsIndex(reader: Reader): number {
  return reader.tableIndex(evaluations)
}

/** Ids of those that the entry made for the node. */
export async function evaluationsMadeAt(
  reader: Reader,
  node: string,
  index: number,
): Promise<readonly string[]> {
  const ids: string[] = []
  const range = { prefix: [node], from: [node, index] }
  for await (const page of reader.pagesBy(evaluations, 'byNode', range)) {
    for (const { id, createIndex } of page) if (createIndex === index) ids.push(id)
  }
  return ids
}
