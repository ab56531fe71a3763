/** `muster acl policy read`. */
import { integerOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, visibleByLine } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findOne } from './describe.ts'

export const aclPolicyRead: Verb = {
  operands: oneOperand('NAME'),
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [name = ''] = call.operands
    const json = await findOne(await ApiClient.open(call), 'policy', name)
    await show(call, json, (style) => {
      const row = objectOf(json)
      const about = pairs([
        ['Name', textOf(row, 'Name')],
        ['Description', textOf(row, 'Description')],
        ['Create Index', integerOf(row, 'CreateIndex')],
        ['Modify Index', integerOf(row, 'ModifyIndex')],
      ])
      const rules = visibleByLine(textOf(row, 'Rules').trimEnd())
      return `${about}\n${style.heading('Rules')}\n${rules}\n`
    })
    return exits.ok
  },
}
