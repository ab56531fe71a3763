/** `muster deployment status`. */
import { listOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { allocationTable } from '../alloc/table.ts'
import { deploymentPath, findDeployment } from './find.ts'
import { followDeployment } from './follow.ts'
import { deploymentText } from './table.ts'

export const deploymentStatus: Verb = {
  operands: oneOperand('DEPLOYMENT'),
  about: `
Shows a deployment, by its id or the front of it: how far each group is, and its allocations.
`,
  flags: {
    monitor: { summary: 'Follow it to its end', value: null },
    verbose: { summary: 'Whole ids, and times instead of ages', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const [given = ''] = call.operands
    const client = await ApiClient.open(call)
    const id = await findDeployment(client, given)
    if (flags.has('monitor')) return followDeployment(client, id, call)
    const deployment = objectOf(await client.get(deploymentPath(id)))
    const rows = listOf(await client.get(deploymentPath(id, 'allocations'))).map(objectOf)
    const verbose = flags.has('verbose')
    await show(call, deployment, (style) => {
      const text = deploymentText(style, deployment, verbose)
      if (rows.length === 0) return text
      const columns = { nowMs: terminal.nowMs(), verbose }
      return `${text}\n${style.heading('Allocations')}\n${allocationTable(style, rows, columns)}`
    })
    return exits.ok
  },
}
