/** `muster eval list`. */
import { listOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { countFlag } from '../../flags.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { evaluationTable } from './table.ts'

export const evalList: Verb = {
  operands: noOperands,
  about: `
Lists the evaluations that are kept, the newest first. With -namespace '*' those of all namespaces.
`,
  flags: {
    job: { summary: 'Only those of this job', value: 'ID' },
    status: { summary: 'Only pending, blocked, complete, failed or canceled ones', value: 'WORD' },
    filter: {
      summary: 'Only those that match, as in \'TriggeredBy == "node-drain"\'',
      value: 'EXPRESSION',
    },
    'per-page': { summary: 'At most so many', value: 'COUNT' },
    'page-token': { summary: 'Go on where a page ended', value: 'TOKEN' },
    verbose: { summary: 'Whole ids', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const perPage = countFlag(flags, 'per-page', 1)
    const client = await ApiClient.open(call)
    const { namespace } = client.settings
    const { json, headers } = await client.ask('GET', '/v1/evaluations', {
      search: {
        namespace,
        job: flags.last('job'),
        status: flags.last('status'),
        filter: flags.last('filter'),
        per_page: perPage,
        next_token: flags.last('page-token'),
      },
    })
    const rows = listOf(json).map(objectOf)
    await show(call, json, (style) => {
      if (rows.length === 0) return ''
      return evaluationTable(style, rows, {
        verbose: flags.has('verbose'),
        withJob: true,
        withNamespace: namespace === '*',
      })
    })
    if (rows.length === 0) terminal.err('No evaluations found\n')
    const next = headers['x-service-nexttoken']
    if (typeof next === 'string') terminal.err(`There are more: go on with -page-token ${next}\n`)
    return exits.ok
  },
}
