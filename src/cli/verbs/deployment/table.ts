/** Deployments in lists, and the groups of one. */
import { countOf, flagOf, integerOf, listOf, membersOf, textOf } from '../../api/answer.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { shortId } from '../../ids.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table, type Cell } from '../../print/table.ts'

export type DeploymentColumns = {
  /** Whole ids. */
  readonly verbose: boolean
  readonly withNamespace: boolean
}

/** The newest first. */
export function deploymentTable(
  style: Style,
  rows: readonly JsonObject[],
  { verbose, withNamespace }: DeploymentColumns,
): string {
  const sorted = rows.toSorted(
    (a, b) => Number(integerOf(b, 'CreateIndex')) - Number(integerOf(a, 'CreateIndex')),
  )
  return table(
    style,
    [
      'ID',
      'Job ID',
      ...(withNamespace ? ['Namespace'] : []),
      'Job Version',
      'Status',
      'Description',
    ],
    sorted.map((row) => [
      verbose ? textOf(row, 'ID') : shortId(textOf(row, 'ID')),
      textOf(row, 'JobID'),
      ...(withNamespace ? [textOf(row, 'Namespace')] : []),
      integerOf(row, 'JobVersion'),
      statusCell(row, style),
      textOf(row, 'StatusDescription'),
    ]),
  )
}

/** What it is, and below it how far each group is. */
export function deploymentText(style: Style, row: JsonObject, verbose: boolean): string {
  const members: readonly (readonly [string, Cell])[] = [
    ['ID', verbose ? textOf(row, 'ID') : shortId(textOf(row, 'ID'))],
    ['Job ID', textOf(row, 'JobID')],
    ['Job Version', integerOf(row, 'JobVersion')],
    ['Status', statusCell(row, style)],
    ['Description', textOf(row, 'StatusDescription')],
  ]
  return `${pairs(members)}\n${style.heading('Deployed')}\n${groupTable(style, row)}`
}

function groupTable(style: Style, row: JsonObject): string {
  const groups = membersOf(row, 'TaskGroups')
  const withCanaries = groups.some(([, group]) => countOf(group, 'DesiredCanaries') > 0)
  return table(
    style,
    [
      'Group',
      'Auto Revert',
      ...(withCanaries ? ['Promoted', 'Desired Canaries', 'Placed Canaries'] : []),
      'Desired',
      'Placed',
      'Healthy',
      'Unhealthy',
      'Progress Deadline',
    ],
    groups.map(([name, group]) => [
      name,
      String(flagOf(group, 'AutoRevert')),
      ...(withCanaries
        ? [
            String(flagOf(group, 'Promoted')),
            integerOf(group, 'DesiredCanaries'),
            String(group['PlacedCanaries'] === null ? 0 : listOf(group['PlacedCanaries']).length),
          ]
        : []),
      integerOf(group, 'DesiredTotal'),
      integerOf(group, 'PlacedAllocs'),
      integerOf(group, 'HealthyAllocs'),
      integerOf(group, 'UnhealthyAllocs'),
      deadlineOf(group),
    ]),
  )
}

function deadlineOf(group: JsonObject): string {
  const by = textOf(group, 'RequireProgressBy')
  return by.startsWith('0001') ? '<none>' : by.replace(/\.\d+Z$/, 'Z')
}

function statusCell(row: JsonObject, { good, bad }: Style): Cell {
  const text = textOf(row, 'Status')
  if (text === 'successful') return { text, paint: good }
  return text === 'failed' ? { text, paint: bad } : text
}
