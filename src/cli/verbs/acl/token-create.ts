/** `muster acl token create`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { describeToken, tokenFlags, tokenMembers } from './describe.ts'

export const aclTokenCreate: Verb = {
  operands: noOperands,
  about: `
Makes a token. Its secret is shown this once.
`,
  flags: {
    ...tokenFlags,
    ttl: { summary: 'How long it is good, as 8h; forever without', value: 'DURATION' },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const ttl = call.flags.last('ttl')
    const json = { ...tokenMembers(call.flags), ...(ttl !== undefined && { ExpirationTTL: ttl }) }
    const client = await ApiClient.open(call)
    const answer = await client.ask('PUT', '/v1/acl/token', { json })
    await show(call, answer.json, () => describeToken(answer.json), true)
    return exits.ok
  },
}
