/** `muster acl role read`. */
import { integerOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { findOne, namesIn } from './describe.ts'

export const aclRoleRead: Verb = {
  operands: oneOperand('NAME'),
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [name = ''] = call.operands
    const json = await findOne(await ApiClient.open(call), 'role', name)
    await show(call, json, () => {
      const row = objectOf(json)
      return pairs([
        ['Name', textOf(row, 'Name')],
        ['Description', textOf(row, 'Description')],
        ['Policies', namesIn(row, 'Policies').join(', ')],
        ['Create Index', integerOf(row, 'CreateIndex')],
        ['Modify Index', integerOf(row, 'ModifyIndex')],
      ])
    })
    return exits.ok
  },
}
