/** `muster session list`. */
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { ttlOf } from './session.ts'

export const sessionList: Verb = {
  operands: noOperands,
  flags: {
    node: { summary: 'Only those of this node, by name or id', value: 'NODE' },
    stale: { summary: 'From the agent asked, even if it lags behind', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    formatOf(flags)
    const node = flags.last('node')
    const client = await ApiClient.open(call)
    const path = node === undefined ? 'list' : `node/${encodeURIComponent(node)}`
    const json = await client.get(`/v1/session/${path}`, {
      stale: flags.has('stale') ? '' : null,
      namespace: client.settings.namespace,
    })
    const rows = listOf(json).map(objectOf)
    await show(call, json, (style) => {
      if (rows.length === 0) return ''
      return table(
        style,
        ['ID', 'Name', 'Node', 'TTL', 'Behavior'],
        rows.map((row) => [
          textOf(row, 'ID'),
          textOf(row, 'Name') || '-',
          textOf(row, 'Node'),
          ttlOf(row),
          textOf(row, 'Behavior'),
        ]),
      )
    })
    if (rows.length === 0) terminal.err('No sessions found\n')
    return exits.ok
  },
}
