/** Evaluations as a table. */
import { integerOf, textOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { shownId } from '../../ids.ts'
import type { Style } from '../../print/style.ts'
import { table } from '../../print/table.ts'
import { hasFailures } from './failures.ts'

export type EvaluationColumns = {
  /** Whole ids. */
  readonly verbose: boolean
  readonly withJob: boolean
  readonly withNamespace: boolean
}

/** The newest first. */
export function evaluationTable(
  style: Style,
  rows: readonly JsonObject[],
  { verbose, withJob, withNamespace }: EvaluationColumns,
): string {
  const idOf = (row: JsonObject, name: string): string => shownId(textOf(row, name), verbose)
  const sorted = rows.toSorted(
    (a, b) => Number(integerOf(b, 'CreateIndex')) - Number(integerOf(a, 'CreateIndex')),
  )
  return table(
    style,
    [
      'ID',
      'Priority',
      'Triggered By',
      ...(withJob ? ['Job ID'] : []),
      ...(withNamespace ? ['Namespace'] : []),
      'Node ID',
      'Status',
      'Placement Failures',
    ],
    sorted.map((row) => [
      idOf(row, 'ID'),
      integerOf(row, 'Priority'),
      textOf(row, 'TriggeredBy'),
      ...(withJob ? [textOf(row, 'JobID')] : []),
      ...(withNamespace ? [textOf(row, 'Namespace')] : []),
      idOf(row, 'NodeID'),
      textOf(row, 'Status'),
      isOpen(row) ? 'not known yet' : String(hasFailures(row)),
    ]),
  )
}

/** It is not known yet what it comes to. */
export function isOpen(evaluation: JsonObject): boolean {
  return ['pending', 'blocked'].includes(textOf(evaluation, 'Status'))
}
