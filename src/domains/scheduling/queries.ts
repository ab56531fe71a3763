/** What workers read of the state. */
import type { Reader } from '../../fsm/domain.ts'
import type { AllocationRow } from '../allocations/model.ts'
import { allocations } from '../allocations/table.ts'
import type { EvaluationRow } from '../evaluations/model.ts'
import { evaluations } from '../evaluations/table.ts'

/** All that take a part of their nodes. */
export function allocationsOnNodes(reader: Reader): AsyncIterable<readonly AllocationRow[]> {
  return reader.pagesBy(allocations, 'onNode')
}

/** Also those that are over. */
export async function allocationsOfJob(
  reader: Reader,
  { namespace, jobId }: Pick<EvaluationRow, 'namespace' | 'jobId'>,
): Promise<readonly AllocationRow[]> {
  const rows: AllocationRow[] = []
  const pages = reader.pagesBy(allocations, 'byJob', { prefix: [namespace, jobId] })
  for await (const page of pages) rows.push(...page)
  return rows
}

export function openEvaluations(
  reader: Reader,
  status: 'pending' | 'blocked',
): AsyncIterable<readonly EvaluationRow[]> {
  return reader.pagesBy(evaluations, 'open', { prefix: [status] })
}

/** Moves with every evaluation that is written. */
export function evaluationsIndex(reader: Reader): number {
  return reader.tableIndex(evaluations)
}
