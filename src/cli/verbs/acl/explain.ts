/** `muster acl explain`. */
import { flagOf, listOf, objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, table } from '../../print/table.ts'
import { Sources } from '../../source.ts'
import { exits, type Verb } from '../../verb.ts'

export const aclExplain: Verb = {
  operands: { usage: 'METHOD PATH', countMin: 2, countMax: 2 },
  about: `
Tells whether a token may make a request, by which rules, and what is missing. The request is not
made. Without -of it is that of a caller without a token. Exits with 1 when it is refused.

    muster acl explain -of 6f1c… PUT /v1/kv/app/x
`,
  flags: {
    of: { summary: 'The accessor of the token', value: 'ACCESSOR' },
    body: { summary: 'The body of the request, where its path does not say all', value: 'FILE|-' },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const [method = '', path = ''] = call.operands
    const file = call.flags.last('body')
    const body =
      file === undefined ? {} : { Body: await new Sources(call.terminal).text(file, 'the body') }
    const client = await ApiClient.open(call)
    const { json } = await client.ask('PUT', '/v1/acl/explain', {
      json: { Token: call.flags.last('of') ?? '', Method: method, Path: path, ...body },
    })
    const row = objectOf(json)
    const allowed = flagOf(row, 'Allowed')
    await show(call, json, (style) => {
      const about = pairs([
        ['Allowed', allowed ? 'yes' : 'no'],
        ['Decided by', textOf(row, 'DecidedBy')],
        ['Requires', requiredBy(row)],
        ['Missing', optional(row, 'Missing')],
        ...dependsOn(row),
        ['Default policy', textOf(row, 'DefaultPolicy')],
      ])
      const rules = listOf(row['Rules']).map(objectOf)
      if (rules.length === 0) return about
      const cells = rules.map((rule) => [
        textOf(rule, 'Policy'),
        textOf(rule, 'Where'),
        `${textOf(rule, 'Kind')} ${JSON.stringify(textOf(rule, 'Name'))}`,
        optional(rule, 'Namespace'),
        textsOf(rule, 'Capabilities').join(', '),
      ])
      const heading = ['Policy', 'Where', 'Rule', 'Namespace', 'Gives']
      return `${about}\n${style.heading('Rules that are for it, the closest first')}\n${table(style, heading, cells)}`
    })
    return allowed ? exits.ok : exits.failed
  },
}

function requiredBy(row: JsonObject): string {
  if (row['Capability'] === null) return '<nothing>'
  const name = textOf(row, 'Name')
  const namespace = row['Namespace'] === null ? '' : ` in namespace ${textOf(row, 'Namespace')}`
  return `${textOf(row, 'Capability')}${name === '' ? '' : ` on ${JSON.stringify(name)}`}${namespace}`
}

/** Absent in the answer of an older server. */
function dependsOn(row: JsonObject): readonly (readonly [string, string])[] {
  const text = Object.hasOwn(row, 'DependsOn') ? optional(row, 'DependsOn') : ''
  return text === '' ? [] : [['Depends on', text]]
}

function optional(row: JsonObject, name: string): string {
  return row[name] === null ? '' : textOf(row, name)
}
