/** Configurations of the whole cluster, which operators read whole and change in parts. */
import { MusterError } from '../lib/errors.ts'
import type { Json, JsonObject } from '../lib/exact-json.ts'
import { integerOf, objectOf } from './api/answer.ts'
import type { ApiClient } from './api/client.ts'
import { misused, type FlagTable } from './flags.ts'

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

/** Those that an option named, of these options: one has to. */
export function namedSettings(
  options: FlagTable,
  all: Readonly<Record<string, Json | undefined>>,
): JsonObject {
  const named: Record<string, Json> = {}
  for (const [name, value] of Object.entries(all)) if (value !== undefined) named[name] = value
  if (Object.keys(named).length > 0) return named
  const names = Object.keys(options).map((name) => `-${name}`)
  return misused(`say what to change: ${names.join(', ')}`)
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
  if (json !== true) throw changedMeanwhile()
}

export function changedMeanwhile(): MusterError {
  const text = 'nothing was changed: the configuration was changed meanwhile; try again'
  return new MusterError('conflict', text)
}
