/** The configuration of autopilot, as the API has it, and as people read it. */
import { MusterError } from '../../../lib/errors.ts'
import type { ApiClient } from '../../api/client.ts'
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

/** What is not named stays as it is. Throws `conflict` where another operator changes something at the same moment. */
export async function changeSettings(
  client: ApiClient,
  path: string,
  changes: JsonObject,
): Promise<void> {
  const { settings, index } = configurationOf(await client.get(path))
  const { json } = await client.ask('PUT', path, {
    search: { cas: index },
    json: { ...settings, ...changes },
  })
  if (json === true) return
  const text = 'nothing was changed: the configuration was changed meanwhile; try again'
  throw new MusterError('conflict', text)
}

/** Without those that no option named. */
export function given(all: Readonly<Record<string, Json | undefined>>): JsonObject {
  const named: Record<string, Json> = {}
  for (const [name, value] of Object.entries(all)) if (value !== undefined) named[name] = value
  return named
}

export function settingLines(settings: JsonObject): string {
  return pairs(
    Object.entries(settings).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
}
