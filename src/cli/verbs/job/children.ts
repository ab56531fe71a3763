/** Jobs that a periodic or a parameterized one started, and what it starts them with. */
import { countOf, flagOf, listOf, objectOf, textOf, textsOf, timeOf } from '../../api/answer.ts'
import type { ApiClient } from '../../api/client.ts'
import { isObject, type JsonObject } from '../../../lib/exact-json.ts'
import { nextOfSchedules } from '../../../lib/schedule.ts'
import type { Style } from '../../print/style.ts'
import { pairs, table } from '../../print/table.ts'
import { statusOf } from './find.ts'

/** When a periodic job is started next, RFC 3339; null: it is not started by time, or never. */
export function nextLaunch(job: JsonObject, nowMs: number): string | null {
  const periodic = job['Periodic']
  if (!isObject(periodic) || periodic['Enabled'] === false || job['Stop'] === true) return null
  if (isParameterized(job)) return null
  const { Spec, Specs, TimeZone } = periodic
  const given = [Spec, Specs].flat().filter((spec) => typeof spec === 'string')
  const specs = given.filter((spec) => spec !== '')
  const zone = typeof TimeZone === 'string' && TimeZone !== '' ? TimeZone : 'UTC'
  const nextMs = nextOfSchedules(specs, zone, nowMs)
  return nextMs === null ? null : new Date(nextMs).toISOString().replace('.000Z', 'Z')
}

/** It runs nothing itself. */
export function isTemplate(job: JsonObject): boolean {
  return isParameterized(job) || isObject(job['Periodic'])
}

/** Dispatches start jobs of it. */
export function isParameterized(job: JsonObject): boolean {
  const isDispatched = job['Dispatched'] !== undefined && flagOf(job, 'Dispatched')
  return isObject(job['ParameterizedJob']) && !isDispatched
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
  if (isObject(rules) && isParameterized(job)) {
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
