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

/** A driver cannot do what a task's `config` says, whatever the machine is like. The text never says a value: it may be secret. */
export class ConfigFault extends MusterError {
  constructor(text: string, code: 'invalid_argument' | 'not_implemented' = 'invalid_argument') {
    super(code, text)
  }
}

/** Throws `ConfigFault`. */
export function checkedConfig<Schema extends TObject>(
  { driver, schema, wrong }: ConfigRule<Schema>,
  config: Readonly<Record<string, unknown>>,
): Static<Schema> {
  if (Check(schema, config)) return config
  const known = Object.keys(schema.properties)
  const strange = Object.keys(config).find((name) => !known.includes(name))
  const text =
    strange === undefined ? wrong : `${driver} knows no ${strange}; it takes ${known.join(', ')}`
  throw new ConfigFault(text)
}
