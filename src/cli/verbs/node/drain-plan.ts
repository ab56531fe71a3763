/** `muster node drain -plan`: what a drain would do to each allocation of the node. */
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../../lib/exact-json.ts'
import { shortId } from '../../ids.ts'
import { show } from '../../print/format.ts'
import type { Style } from '../../print/style.ts'
import { table, visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { reasonsOf } from '../eval/failures.ts'

const actions: Readonly<Record<string, string>> = {
  move: 'moves',
  wait: 'no place',
  end: 'runs on',
  stop: 'stops',
  stay: 'stays',
}

export async function showPlan(call: Call, client: ApiClient, id: string): Promise<number> {
  const { flags } = call
  const json = await client.get(`/v1/node/${encodeURIComponent(id)}/drain/plan`, {
    force: String(flags.has('force')),
    ignore_system_jobs: String(flags.has('ignore-system')),
  })
  const planned = listOf(objectOf(json)['Allocations']).map(objectOf)
  await show(call, json, (style) => planText(style, planned))
  return planned.some(isStranded) ? exits.failed : exits.ok
}

function isStranded(one: JsonObject): boolean {
  return textOf(one, 'Action') === 'wait'
}

function planText(style: Style, planned: readonly JsonObject[]): string {
  if (planned.length === 0) return 'Nothing runs on the node\n'
  const rows = planned.map((one) => {
    const action = textOf(one, 'Action')
    const word = actions[action] ?? action
    return [
      shortId(textOf(one, 'ID')),
      textOf(one, 'Name'),
      { text: word, paint: isStranded(one) ? style.bad : style.good },
      textOf(one, 'NodeName') || '<none>',
      textOf(one, 'Reason'),
    ]
  })
  const reasons = planned.filter(isStranded).flatMap((one) => {
    const metrics = one['Metrics']
    const found = isObject(metrics) ? reasonsOf(metrics) : []
    const lines = found.map((reason) => `  * ${visible(reason)}\n`)
    return [`No place for ${visible(textOf(one, 'Name'))}\n`, ...lines]
  })
  const listed = table(style, ['ID', 'Name', 'Plan', 'To', 'Reason'], rows)
  return [listed, ...(reasons.length === 0 ? [] : [reasons.join('')])].join('\n')
}
