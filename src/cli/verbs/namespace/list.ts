/** `muster namespace list`. */
import { listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { table } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

export const namespaceList: Verb = {
  operands: noOperands,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/namespaces')
    await show(call, json, (style) => {
      const rows = listOf(json).map(objectOf)
      const cells = rows.map((row) => [textOf(row, 'Name'), textOf(row, 'Description')])
      return table(style, ['Name', 'Description'], cells)
    })
    return exits.ok
  },
}
