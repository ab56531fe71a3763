/** `muster job plan`: what a registration would do. */
import { MusterError, textOf as messageOf } from '../../../lib/errors.ts'
import { countOf, integerOf, listOf, membersOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { isMisuse } from '../../flags.ts'
import { shownId } from '../../ids.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { table, visible, visibleByLine } from '../../print/table.ts'
import type { Call, Verb } from '../../verb.ts'
import { failureText } from '../eval/failures.ts'
import { diffText } from './diff.ts'
import { jobPath } from './find.ts'
import { fileOperand, jobToSend, readSource, variableFlags, wordOf } from './source.ts'

/** As of Nomad's tool, so that scripts go on. */
const planExits = { same: 0, changes: 1, failed: 255 } as const

export const jobPlan: Verb = {
  operands: fileOperand,
  about: `
Shows what job run would change: what differs from the job as it is registered, what would become
of the allocations of each group, and what would have no place. Nothing is registered. The exit
code is 0 where no allocation would be made or stopped, 1 where one would, and 255 where the job
cannot be planned.
`,
  flags: {
    ...variableFlags,
    diff: { summary: 'Show what differs; -diff=false leaves it out', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    try {
      return await plan(call)
    } catch (error) {
      if (!(error instanceof MusterError) || isMisuse(error)) throw error
      call.terminal.err(`muster job plan: ${visible(messageOf(error))}\n`)
      return planExits.failed
    }
  },
}

async function plan(call: Call): Promise<number> {
  const { flags } = call
  formatOf(flags)
  const source = await readSource(call)
  const client = await ApiClient.open(call)
  const { Job, Namespace } = await jobToSend(client, source, flags)
  const { json } = await client.ask('PUT', jobPath(wordOf(Job, 'ID'), '/plan'), {
    search: { namespace: Namespace },
    json: { Job, Diff: flags.last('diff') !== 'false' },
  })
  const answer = objectOf(json)
  await show(call, json, (style) => planText(style, answer, source.path))
  return hasChanges(answer) ? planExits.changes : planExits.same
}

function desiredOf(answer: JsonObject) {
  return membersOf(objectOf(answer['Annotations']), 'DesiredTGUpdates')
}

function hasChanges(answer: JsonObject): boolean {
  const names = ['Place', 'Migrate', 'Stop', 'DestructiveUpdate', 'Canary'] as const
  return desiredOf(answer).some(([, counts]) => names.some((name) => countOf(counts, name) > 0))
}

function planText(style: Style, answer: JsonObject, path: string): string {
  const diff = answer['Diff']
  const failed = membersOf(answer, 'FailedTGAllocs')
  const warnings = textOf(answer, 'Warnings')
  const index = integerOf(answer, 'JobModifyIndex')
  const next = textOf(answer, 'NextPeriodicLaunch')
  const preempted = listOf(objectOf(answer['Annotations'])['PreemptedAllocs'] ?? []).map(objectOf)
  const found =
    failed.length === 0
      ? 'All allocations would have a place\n'
      : `Not all allocations would have a place\n${failureText(answer)}`
  return [
    ...(isObject(diff) ? [diffText(diff)] : []),
    `${style.heading('Scheduler dry run')}\n${found}`,
    ...(preempted.length === 0 ? [] : [preemptedText(style, preempted)]),
    ...(next.startsWith('0001-') ? [] : [`Next launch: ${visible(next)}\n`]),
    ...(warnings === '' ? [] : [`${visibleByLine(warnings)}\n`]),
    `Job Modify Index: ${index}\nTo register the job only if nothing changed meanwhile:\n  muster job run -check-index ${index} ${visible(path)}\n`,
  ].join('\n')
}

function preemptedText(style: Style, rows: readonly JsonObject[]): string {
  const header = ['Alloc ID', 'Job ID', 'Task Group']
  const lines = rows.map((row) => [
    shownId(textOf(row, 'ID'), false),
    textOf(row, 'JobID'),
    textOf(row, 'TaskGroup'),
  ])
  return `${style.heading('Preemptions: these would end')}\n${table(style, header, lines)}`
}
