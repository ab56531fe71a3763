/** Rows of a job after a change, as entries write them. */
import type { Change } from '../../fsm/domain.ts'
import { replace } from '../define.ts'
import type { Trigger } from '../evaluations/model.ts'
import { hasLive, statusOf, withChildren, type Moved } from './state-model.ts'
import type { scaledMember } from './scaling-model.ts'
import type { StoredSpec } from './stored-model.ts'
import { jobs, type JobRow, type JobVersionRow } from './table.ts'

export function withStatus(
  row: JobRow,
  { openEvaluations, index }: { readonly openEvaluations: boolean; readonly index: number },
): JobRow {
  const status = statusOf(row, { live: hasLive(row), openEvaluations })
  return status === row.status ? row : { ...row, status, modifyIndex: index }
}

export function made(
  {
    evaluationId: id,
    evalPriority,
    skipsDelay,
  }: {
    readonly evaluationId: string
    readonly evalPriority?: number
    readonly skipsDelay?: true
  },
  triggeredBy: Trigger,
) {
  return {
    id,
    triggeredBy,
    ...(evalPriority !== undefined && { priority: evalPriority }),
    ...(skipsDelay === true && { skipsDelay }),
  }
}

/** Of the job that started this one, whose row counts it. */
export function parentChanges(parent: JobRow | null, moved: Moved, index: number): Change[] {
  const after = parent === null ? null : withChildren(parent, [moved], index)
  return parent === null || after === null || after === parent ? [] : [replace(jobs, parent, after)]
}

/** See `scaledMember`. */
export function scaledBefore(
  row: JobRow | null,
  version: JobVersionRow | null,
): Parameters<typeof scaledMember>[1] {
  if (row === null || version === null) return null
  return { spec: version.spec, ...(row.scaled !== undefined && { scaled: row.scaled }) }
}

export function versionRow(
  row: JobRow,
  {
    spec,
    before,
    index,
  }: {
    readonly spec: StoredSpec
    readonly before: JobVersionRow | null
    readonly index: number
  },
): JobVersionRow {
  const { namespace, id, version, stop, submitMs, createIndex: jobCreateIndex } = row
  const key = { namespace, id, jobCreateIndex, version }
  const payload = before?.payload === undefined ? {} : { payload: before.payload }
  return { ...key, spec, stop, submitMs, ...payload, createIndex: index, modifyIndex: index }
}
