/** `muster catalog datacenters`. */
import { listOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { visible } from '../../print/table.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'

export const catalogDatacenters: Verb = {
  operands: noOperands,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/catalog/datacenters')
    await show(call, json, () =>
      listOf(json)
        .filter((name) => typeof name === 'string')
        .map((name) => `${visible(name)}\n`)
        .join(''),
    )
    return exits.ok
  },
}
