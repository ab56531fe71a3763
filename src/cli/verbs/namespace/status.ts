/** `muster namespace status`. */
import { integerOf, objectOf, pairsOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findNamespace, unknownNamespace } from './describe.ts'

export const namespaceStatus: Verb = {
  operands: oneOperand('NAME'),
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [name = ''] = call.operands
    const json = await findNamespace(await ApiClient.open(call), name)
    if (json === null) throw unknownNamespace(name)
    await show(call, json, (style) => {
      const row = objectOf(json)
      const meta = pairsOf(row, 'Meta')
      const about = pairs([
        ['Name', textOf(row, 'Name')],
        ['Description', textOf(row, 'Description')],
        ['Create Index', integerOf(row, 'CreateIndex')],
        ['Modify Index', integerOf(row, 'ModifyIndex')],
      ])
      return meta.length === 0 ? about : `${about}\n${style.heading('Meta')}\n${pairs(meta)}`
    })
    return exits.ok
  },
}
