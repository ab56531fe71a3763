/** `muster operator root keyring list`. */
import { listOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { keyTable } from './keys.ts'

export const keyringList: Verb = {
  operands: noOperands,
  about: `
Names the keys that seal variables. The keys themselves never leave the servers.
`,
  flags: {
    verbose: { summary: 'Understood for the sake of scripts: ids are shown whole', value: null },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/operator/keyring/keys')
    await show(call, json, (style) => keyTable(listOf(json), style))
    return exits.ok
  },
}
