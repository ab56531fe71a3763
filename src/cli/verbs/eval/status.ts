/** `muster eval status`. */
import { integerOf, listOf, objectOf, textOf, timeOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { findId, shownId, type Listed } from '../../ids.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, type Cell } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { allocationTable } from '../alloc/table.ts'
import { failureText, hasFailures } from './failures.ts'
import { followEvaluation } from './follow.ts'
import { isOpen } from './table.ts'

export const evalStatus: Verb = {
  operands: oneOperand('EVALUATION'),
  about: `
Shows an evaluation, by its id or the front of it: what it was for, what it placed, and why some
allocations have no place.
`,
  flags: {
    monitor: { summary: 'Follow it to its end', value: null },
    verbose: { summary: 'Whole ids, and times instead of ages', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const id = await findId(client, given, evaluationsIn(client.settings.namespace))
    if (flags.has('monitor')) return followEvaluation(client, id, call)
    const evaluation = objectOf(await client.get(`/v1/evaluation/${encodeURIComponent(id)}`))
    const placed = listOf(await client.get(`/v1/evaluation/${encodeURIComponent(id)}/allocations`))
    await show(call, evaluation, (style) => {
      const parts = [pairs(membersOf(evaluation, flags.has('verbose')))]
      if (hasFailures(evaluation)) {
        parts.push(`${style.heading('Failed Placements')}\n${failureText(evaluation)}`)
      }
      if (placed.length > 0) {
        const columns = { nowMs: terminal.nowMs(), verbose: flags.has('verbose') }
        const rows = placed.map(objectOf)
        parts.push(
          `${style.heading('Placed Allocations')}\n${allocationTable(style, rows, columns)}`,
        )
      }
      return parts.join('\n')
    })
    return exits.ok
  },
}

function evaluationsIn(namespace: string | null): Listed {
  return {
    what: 'evaluation',
    path: '/v1/evaluations',
    search: { namespace },
    nameOf: (row) => `${textOf(row, 'JobID')}, ${textOf(row, 'TriggeredBy')}`,
  }
}

function membersOf(evaluation: JsonObject, verbose: boolean): readonly (readonly [string, Cell])[] {
  const idOf = (name: string): string => shownId(textOf(evaluation, name), verbose)
  return [
    ['ID', idOf('ID')],
    ['Created', timeOf(evaluation, 'CreateTime')],
    ['Modified', timeOf(evaluation, 'ModifyTime')],
    ['Status', textOf(evaluation, 'Status')],
    ['Status Description', textOf(evaluation, 'StatusDescription') || '<none>'],
    ['Type', textOf(evaluation, 'Type')],
    ['Triggered By', textOf(evaluation, 'TriggeredBy')],
    ['Job ID', textOf(evaluation, 'JobID')],
    ['Namespace', textOf(evaluation, 'Namespace')],
    ['Node ID', idOf('NodeID')],
    ['Priority', integerOf(evaluation, 'Priority')],
    ['Placement Failures', isOpen(evaluation) ? 'not known yet' : String(hasFailures(evaluation))],
    ['Previous Eval', idOf('PreviousEval')],
    ['Next Eval', idOf('NextEval')],
    ['Blocked Eval', idOf('BlockedEval')],
  ]
}
