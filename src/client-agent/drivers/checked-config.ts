/** Of a task's `config`, for the drivers that take few members. */
import type { Static, TObject } from 'typebox'
import { Check } from 'typebox/schema'
import { MusterError } from '../../lib/errors.ts'

export type ConfigRule<Schema extends TObject> = {
  readonly driver: string
  readonly schema: Schema
  /** What is said where a member is missing or of the wrong type. */
  readonly wrong: string
}

/** Throws `invalid_argument`, which never says a value: it may be secret. */
export function checkedConfig<Schema extends TObject>(
  { driver, schema, wrong }: ConfigRule<Schema>,
  config: Readonly<Record<string, unknown>>,
): Static<Schema> {
  if (Check(schema, config)) return config
  const known = Object.keys(schema.properties)
  const strange = Object.keys(config).find((name) => !known.includes(name))
  const text =
    strange === undefined ? wrong : `${driver} knows no ${strange}; it takes ${known.join(', ')}`
  throw new MusterError('invalid_argument', text)
}
