/** `muster scaling policy list` and `info`. */
import { flagOf, integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { isObject, printJson, type JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { findId, shortId } from '../../ids.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, table } from '../../print/table.ts'
import { exits, noOperands, oneOperand, type Verb } from '../../verb.ts'

const path = '/v1/scaling/policies'
const verboseFlag = { verbose: { summary: 'Whole ids', value: null } } as const

export const scalingPolicyList: Verb = {
  operands: noOperands,
  about: `
Lists the scaling policies of groups of jobs. With -namespace '*' those of all namespaces.
`,
  flags: {
    job: { summary: 'Only those of this job', value: 'JOB' },
    type: { summary: 'Only those of this type, as horizontal', value: 'TYPE' },
    filter: { summary: "Only those that match, as in 'Enabled == true'", value: 'EXPRESSION' },
    ...verboseFlag,
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const client = await ApiClient.open(call)
    const json = await client.get(path, {
      namespace: client.settings.namespace,
      job: flags.last('job'),
      type: flags.last('type'),
      filter: flags.last('filter'),
    })
    const rows = listOf(json).map(objectOf)
    const verbose = flags.has('verbose')
    await show(call, json, (style) =>
      rows.length === 0
        ? ''
        : table(
            style,
            ['ID', 'Enabled', 'Type', 'Target'],
            rows.map((row) => [
              idText(row, verbose),
              String(flagOf(row, 'Enabled')),
              textOf(row, 'Type'),
              targetOf(row),
            ]),
          ),
    )
    if (rows.length === 0) terminal.err('No policies found\n')
    return exits.ok
  },
}

export const scalingPolicyInfo: Verb = {
  operands: oneOperand('POLICY'),
  about: `
Shows a scaling policy, by its id or the front of it: the bounds of its group's count, and what it
says to an autoscaler.
`,
  flags: { ...verboseFlag, ...formatFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const { flags, operands } = call
    formatOf(flags)
    const [given = ''] = operands
    const client = await ApiClient.open(call)
    const { namespace } = client.settings
    const id = await findId(client, given, {
      what: 'policy',
      path,
      search: { namespace },
      nameOf: targetOf,
    })
    const policy = objectOf(
      await client.get(`/v1/scaling/policy/${encodeURIComponent(id)}`, { namespace }),
    )
    await show(call, policy, (style) => {
      const rules = policy['Policy']
      const isEmpty = !isObject(rules) || Object.keys(rules).length === 0
      const overview = pairs([
        ['ID', idText(policy, flags.has('verbose'))],
        ['Enabled', String(flagOf(policy, 'Enabled'))],
        ['Type', textOf(policy, 'Type')],
        ['Target', targetOf(policy)],
        ['Min', integerOf(policy, 'Min')],
        ['Max', integerOf(policy, 'Max')],
      ])
      return `${overview}\n${style.heading('Policy')}\n${isEmpty ? '<empty>\n' : printJson(rules)}`
    })
    return exits.ok
  },
}

function idText(row: JsonObject, verbose: boolean): string {
  const id = textOf(row, 'ID')
  return verbose ? id : shortId(id)
}

/** As Nomad's tool writes it. */
function targetOf(row: JsonObject): string {
  const target = objectOf(row['Target'])
  return ['Namespace', 'Job', 'Group'].map((name) => `${name}:${textOf(target, name)}`).join(',')
}
