/** Which keys of the files say something else than at the start, and take a restart. */
import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'
import { isJsonObject } from '../lib/json-object.ts'
import { propertiesOf } from './config-check.ts'
import { fileSchema, type ConfigFile } from './config-schema.ts'

/** Keys that a reload applies, with all that is below them. */
const reloadable: ReadonlySet<string> = new Set([
  'log_level',
  'log_json',
  'service',
  'services',
  'check',
  'checks',
  'http',
  'audit',
  'limits.http_max_conns_per_client',
  'limits.http_connections_per_client_max',
  'limits.http_rate_per_client',
  'limits.http_burst_per_client',
  'limits.http_concurrency_per_client',
])

const namesShownMax = 12

/** One line for all that a reload does not change; null: nothing. It has names of keys and no values, for some are secret. */
export function restartWarning(running: ConfigFile, next: ConfigFile): string | null {
  const names = changedKeys(fileSchema, running, next, '').sort()
  if (names.length === 0) return null
  const shown = names.slice(0, namesShownMax).join(', ')
  const more = names.length - namesShownMax
  return `these take a restart: ${shown}${more > 0 ? ` and ${more} more` : ''}`
}

/** Only names that the schema knows: a list, or an object whose keys the user chooses, is one key. */
function changedKeys(schema: TSchema, before: unknown, after: unknown, path: string): string[] {
  if (reloadable.has(path) || isDeepStrictEqual(before, after)) return []
  const properties = propertiesOf(schema)
  if (properties === null || !isJsonObject(before) || !isJsonObject(after)) return [path]
  const prefix = path === '' ? '' : `${path}.`
  return [...properties].flatMap(([key, below]) =>
    changedKeys(below, before[key], after[key], `${prefix}${key}`),
  )
}
