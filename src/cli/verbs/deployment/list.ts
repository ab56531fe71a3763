/** `muster deployment list`. */
import { listOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { deploymentTable } from './table.ts'

export const deploymentList: Verb = {
  operands: noOperands,
  about: `
Lists the deployments that are kept, the newest first. With -namespace '*' those of all namespaces.
`,
  flags: {
    filter: {
      summary: 'Only those that match, as in \'Status == "running"\'',
      value: 'EXPRESSION',
    },
    verbose: { summary: 'Whole ids', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const client = await ApiClient.open(call)
    const { namespace } = client.settings
    const json = await client.get('/v1/deployments', { namespace, filter: flags.last('filter') })
    const rows = listOf(json).map(objectOf)
    const columns = { verbose: flags.has('verbose'), withNamespace: namespace === '*' }
    await show(call, json, (style) =>
      rows.length === 0 ? '' : deploymentTable(style, rows, columns),
    )
    if (rows.length === 0) terminal.err('No deployments found\n')
    return exits.ok
  },
}
