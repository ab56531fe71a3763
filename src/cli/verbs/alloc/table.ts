/** Allocations as a table, from their entries in lists. */
import { integerOf, textOf, timeOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { shownId } from '../../ids.ts'
import { agoOf } from '../../print/ago.ts'
import type { Style } from '../../print/style.ts'
import { table, type Cell } from '../../print/table.ts'

export type AllocationColumns = {
  readonly nowMs: number
  /** Whole ids, names of nodes, and times instead of ages. */
  readonly verbose: boolean
}

/** The newest first. */
export function allocationTable(
  style: Style,
  rows: readonly JsonObject[],
  { nowMs, verbose }: AllocationColumns,
): string {
  const when = (row: JsonObject, name: string): string =>
    verbose ? timeOf(row, name) : agoOf(Number(BigInt(integerOf(row, name)) / 1_000_000n), nowMs)
  const sorted = rows.toSorted((a, b) => indexOf(b) - indexOf(a))
  return table(
    style,
    [
      'ID',
      ...(verbose ? ['Eval ID'] : []),
      'Node ID',
      ...(verbose ? ['Node Name'] : []),
      'Group',
      'Version',
      'Desired',
      'Status',
      'Created',
      'Modified',
    ],
    sorted.map((row) => [
      shownId(textOf(row, 'ID'), verbose),
      ...(verbose ? [textOf(row, 'EvalID')] : []),
      shownId(textOf(row, 'NodeID'), verbose),
      ...(verbose ? [textOf(row, 'NodeName')] : []),
      textOf(row, 'TaskGroup'),
      integerOf(row, 'JobVersion'),
      textOf(row, 'DesiredStatus'),
      statusCell(row, style),
      when(row, 'CreateTime'),
      when(row, 'ModifyTime'),
    ]),
  )
}

function indexOf(row: JsonObject): number {
  return Number(integerOf(row, 'CreateIndex'))
}

function statusCell(row: JsonObject, { good, bad }: Style): Cell {
  const text = textOf(row, 'ClientStatus')
  if (text === 'running') return { text, paint: good }
  return ['failed', 'lost', 'unknown'].includes(text) ? { text, paint: bad } : text
}
