/** `muster var list`. */
import { listOf, objectOf, textOf, timeOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag } from '../../flags.ts'
import { formatOf, outFlags, show } from '../../print/format.ts'
import { table, visible } from '../../print/table.ts'
import { exits, type Verb } from '../../verb.ts'

export const varList: Verb = {
  operands: { usage: '[PREFIX]', countMin: 0, countMax: 1 },
  about: `
Lists the variables whose path begins with PREFIX, without their items.

  muster var list -namespace '*' -filter 'Path matches "db$"'
`,
  flags: {
    filter: { summary: 'Only those the expression holds for', value: 'EXPRESSION' },
    'per-page': { summary: 'At most so many', value: 'COUNT' },
    'page-token': { summary: 'Where to go on', value: 'TOKEN' },
    q: { summary: 'Paths alone, one a line', value: null },
    stale: { summary: 'From the agent asked, even if it lags behind', value: null },
    ...outFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    formatOf(flags)
    const perPage = countFlag(flags, 'per-page', 0)
    const client = await ApiClient.open(call)
    const { json, headers } = await client.ask('GET', '/v1/vars', {
      search: {
        prefix: operands[0],
        filter: flags.last('filter'),
        per_page: perPage,
        next_token: flags.last('page-token'),
        namespace: client.settings.namespace,
        stale: flags.has('stale') ? '' : null,
      },
    })
    const rows = listOf(json).map(objectOf)
    if (flags.has('q')) {
      terminal.out(rows.map((row) => `${visible(textOf(row, 'Path'))}\n`).join(''))
    } else {
      await show(call, json, (style) => {
        if (rows.length === 0) return ''
        return table(
          style,
          ['Namespace', 'Path', 'Last Updated'],
          rows.map((row) => [
            textOf(row, 'Namespace'),
            textOf(row, 'Path'),
            timeOf(row, 'ModifyTime'),
          ]),
        )
      })
      // Beside the output, so that a pipe gets rows and nothing else.
      if (rows.length === 0) terminal.err('No variables found\n')
    }
    const next = headers['x-service-nexttoken']
    if (typeof next === 'string') terminal.err(`There are more: go on with -page-token ${next}\n`)
    return exits.ok
  },
}
