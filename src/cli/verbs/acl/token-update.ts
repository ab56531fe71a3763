/** `muster acl token update`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { aclPath, describeToken, tokenFlags, tokenMembers, unknownOr } from './describe.ts'

export const aclTokenUpdate: Verb = {
  operands: oneOperand('ACCESSOR'),
  about: `
Changes what options name; the rest of the token stays as it is. -policy and -role replace the whole
list.
`,
  flags: { ...tokenFlags, ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [accessor = ''] = call.operands
    const json = tokenMembers(call.flags)
    if (Object.keys(json).length === 0) misused('say what to change: -policy, -role, -name …')
    const client = await ApiClient.open(call)
    const answer = await client
      .ask('PUT', aclPath('token', accessor), { json })
      .catch((error: unknown) => {
        throw unknownOr(error, 'token', accessor)
      })
    await show(call, answer.json, () => describeToken(answer.json))
    return exits.ok
  },
}
