/** What the commands share that ask a path below `/v1`, and those that show what such a path answers. */
import { escapePath } from '../../api/client.ts'
import { isObject, lineOfJson, type Json, type JsonObject } from '../../../lib/exact-json.ts'
import { misused, type FlagTable } from '../../flags.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, visible } from '../../print/table.ts'
import { exits, type Call } from '../../verb.ts'
import { MusterError } from '../../../lib/errors.ts'

export const answerFlags: FlagTable = {
  field: { summary: 'Print this field alone', value: 'NAME' },
  ...formatFlags,
}

/** `auth/ldap/config` or `/v1/auth/ldap/config`. */
export function apiPath(operand: string): string {
  const path = operand.replace(/^\/+/, '').replace(/^v1\//, '')
  if (path === '') misused('the path is empty; it looks like auth/ldap/config')
  return `/v1/${escapePath(path)}`
}

/** Throws if the format is not understood: before anything is asked. */
export function checkFormat({ flags }: Call): void {
  const format = formatOf(flags)
  if (flags.has('field') && format.type !== 'table') misused('-field goes with no other format')
}

/**
 * Prints an answer: of an envelope its `auth` or `data`, and its warnings to the error output; what is no envelope as it is. `done`
 * is printed for an empty one.
 */
export async function showAnswer(call: Call, json: Json, done: string): Promise<number> {
  const { flags, terminal } = call
  for (const warning of warningsOf(json)) terminal.err(`Warning: ${visible(warning)}\n`)
  const field = flags.last('field')
  if (field !== undefined) {
    terminal.out(`${cell(fieldOf(json, field))}${terminal.outIsTerminal ? '\n' : ''}`)
    return exits.ok
  }
  await show(call, json, () => describe(json, done))
  return exits.ok
}

function describe(json: Json, done: string): string {
  if (json === null) return `${done}\n`
  const fields = fieldsOf(json)
  if (fields === null) return `${lineOfJson(json)}\n`
  return pairs(Object.entries(fields).map(([name, value]) => [name, cell(value)]))
}

/** Of an envelope what it carries, with a token's fields named as those that read tokens have them. */
function fieldsOf(json: Json): JsonObject | null {
  if (!isObject(json)) return null
  if (isObject(json['auth'])) return authFields(json['auth'])
  if (!('request_id' in json)) return json
  return isObject(json['data']) ? json['data'] : {}
}

function authFields({ client_token: token = '', accessor = '', ...rest }: JsonObject): JsonObject {
  const { lease_duration: duration = 0, renewable = false, ...others } = rest
  return {
    token,
    token_accessor: accessor,
    token_duration: duration,
    token_renewable: renewable,
    ...others,
  }
}

function fieldOf(json: Json, name: string): Json {
  const fields = fieldsOf(json) ?? {}
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (value !== undefined) return value
  const names = Object.keys(fields)
  throw new MusterError(
    'not_found',
    `the answer has no field ${JSON.stringify(name)}${names.length === 0 ? '' : `; it has ${names.join(', ')}`}`,
  )
}

function warningsOf(json: Json): readonly string[] {
  const warnings = isObject(json) ? json['warnings'] : null
  return Array.isArray(warnings) ? warnings.map(String) : []
}

function cell(value: Json): string {
  if (typeof value === 'string') return value
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return value.join(',')
  }
  return lineOfJson(value)
}
