/** Jobs that a periodic or a parameterized one started, and what it starts them with. */
import { countOf, flagOf, listOf, objectOf, textOf, textsOf, timeOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../api/json.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table } from '../../print/table.ts'
import { statusOf } from './find.ts'

/** It runs nothing itself. */
export function isTemplate(job: JsonObject): boolean {
  const isParameterized = isObject(job['ParameterizedJob']) && !isDispatched(job)
  return isParameterized || isObject(job['Periodic'])
}

function isDispatched(job: JsonObject): boolean {
  return job['Dispatched'] !== undefined && flagOf(job, 'Dispatched')
}

export async function childrenOf(
  client: ApiClient,
  { id, namespace }: { readonly id: string; readonly namespace: string },
): Promise<readonly JsonObject[]> {
  const rows = listOf(await client.get('/v1/jobs', { namespace, prefix: `${id}/` }))
  return rows.map(objectOf).filter((row) => textOf(row, 'ParentID') === id)
}

export function childrenText(
  style: Style,
  job: JsonObject,
  { summary, children }: { readonly summary: JsonObject; readonly children: readonly JsonObject[] },
): string {
  const counts = objectOf(summary['Children'])
  const names = ['Pending', 'Running', 'Dead'] as const
  const parts = [
    `${style.heading('Children')}\n${table(style, names, [names.map((name) => String(countOf(counts, name)))])}`,
  ]
  const rules = job['ParameterizedJob']
  if (isObject(rules)) {
    parts.unshift(`${style.heading('Parameters')}\n${pairs(parametersOf(rules))}`)
  }
  parts.push(
    `${style.heading('Started Jobs')}\n${
      children.length === 0
        ? 'No job started\n'
        : table(
            style,
            ['ID', 'Status', 'Submit Date'],
            children.map((row) => [textOf(row, 'ID'), statusOf(row), timeOf(row, 'SubmitTime')]),
          )
    }`,
  )
  return parts.join('\n')
}

function parametersOf(rules: JsonObject): readonly (readonly [string, string])[] {
  const keys = (name: string): string => textsOf(rules, name).join(', ') || '<none>'
  return [
    ['Payload', textOf(rules, 'Payload')],
    ['Required Meta', keys('MetaRequired')],
    ['Optional Meta', keys('MetaOptional')],
  ]
}
