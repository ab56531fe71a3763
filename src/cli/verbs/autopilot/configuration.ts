/** The configuration of autopilot, as the API has it, and as people read it. */
import { integerOf, objectOf } from '../../api/answer.ts'
import type { Json, JsonObject } from '../../../lib/exact-json.ts'
import { pairs } from '../../print/table.ts'

export const configurationPath = '/v1/operator/autopilot/configuration'

const indexNames: readonly string[] = ['CreateIndex', 'ModifyIndex']

/** `index` is 0 when it was never changed. */
export function configurationOf(json: Json): {
  readonly settings: JsonObject
  readonly index: string
} {
  const answer = objectOf(json)
  const settings = Object.entries(answer).filter(([name]) => !indexNames.includes(name))
  return { settings: Object.fromEntries(settings), index: integerOf(answer, 'ModifyIndex') }
}

export function settingLines(settings: JsonObject): string {
  return pairs(
    Object.entries(settings).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}
