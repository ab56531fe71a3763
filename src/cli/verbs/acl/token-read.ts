/** `muster acl token read` and `muster acl token self`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, oneOperand, type Verb } from '../../verb.ts'
import { describeToken, findOne } from './describe.ts'

export const aclTokenRead: Verb = {
  operands: oneOperand('ACCESSOR'),
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const [accessor = ''] = call.operands
    const json = await findOne(await ApiClient.open(call), 'token', accessor)
    await show(call, json, () => describeToken(json))
    return exits.ok
  },
}

export const aclTokenSelf: Verb = {
  operands: noOperands,
  about: `
Shows the token that this command is run with.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const json = await (await ApiClient.open(call)).get('/v1/acl/token/self')
    await show(call, json, () => describeToken(json))
    return exits.ok
  },
}
