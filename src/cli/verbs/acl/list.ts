/** `muster acl token list`, `acl policy list` and `acl role list`. */
import { listOf, objectOf, textOf, textsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import type { JsonObject } from '../../../lib/exact-json.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { expirationOf, listPaths, namesIn, type Kind } from './describe.ts'

type Columns = readonly (readonly [heading: string, cell: (row: JsonObject) => string])[]

export const aclTokenList = listVerb('token', [
  ['Accessor ID', (row) => textOf(row, 'AccessorID')],
  ['Name', (row) => textOf(row, 'Name')],
  ['Type', (row) => textOf(row, 'Type')],
  ['Policies', (row) => textsOf(row, 'Policies').join(', ')],
  ['Roles', (row) => namesIn(row, 'Roles').join(', ')],
  ['Expiration', expirationOf],
])

export const aclPolicyList = listVerb('policy', [
  ['Name', (row) => textOf(row, 'Name')],
  ['Description', (row) => textOf(row, 'Description')],
])

export const aclRoleList = listVerb('role', [
  ['Name', (row) => textOf(row, 'Name')],
  ['Policies', (row) => namesIn(row, 'Policies').join(', ')],
  ['Description', (row) => textOf(row, 'Description')],
])

function listVerb(kind: Kind, columns: Columns): Verb {
  return {
    operands: noOperands,
    flags: {
      prefix: { summary: 'Those that begin so', value: 'TEXT' },
      filter: { summary: 'Those that it is true of', value: 'EXPRESSION' },
      ...formatFlags,
      ...connectionFlags,
    },
    async run(call) {
      formatOf(call.flags)
      const { flags } = call
      const client = await ApiClient.open(call)
      const search = { prefix: flags.last('prefix'), filter: flags.last('filter') }
      const json = await client.get(listPaths[kind], search)
      await show(call, json, (style) => {
        const rows = listOf(json).map(objectOf)
        const heading = columns.map(([name]) => name)
        return table(
          style,
          heading,
          rows.map((row) => columns.map(([, cell]) => cell(row))),
        )
      })
      return exits.ok
    },
  }
}
