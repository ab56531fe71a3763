/** `muster operator root keyring rotate`. */
import { objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { keyTable } from './keys.ts'

export const keyringRotate: Verb = {
  operands: noOperands,
  about: `
Makes a new key for variables. What is there is sealed anew in the background.
`,
  flags: {
    full: { summary: 'Understood for the sake of scripts: every rotation is full', value: null },
    now: { summary: 'Understood for the sake of scripts: a new key is used at once', value: null },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const { json } = await client.ask('PUT', '/v1/operator/keyring/rotate', {
      search: { full: call.flags.has('full') ? '' : null },
    })
    await show(call, json, (style) => keyTable([objectOf(json)['Key'] ?? null], style))
    return exits.ok
  },
}
