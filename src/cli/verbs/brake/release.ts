/** `muster operator scheduler brake release`. */
import { flagOf, objectOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { brakePath } from './brake.ts'

export const brakeRelease: Verb = {
  operands: noOperands,
  about: `
Releases the storm brake: what ran on lost nodes is placed elsewhere now. Nodes that are lost from
here on are counted anew.
`,
  flags: connectionFlags,
  async run(call) {
    const client = await ApiClient.open(call)
    const { json } = await client.ask('DELETE', brakePath)
    const released = flagOf(objectOf(json), 'Released')
    call.terminal.out(released ? 'Released the storm brake\n' : 'The storm brake is not on\n')
    return exits.ok
  },
}
