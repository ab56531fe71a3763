/** `muster node purge`: forgets a node. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { chosenNode } from './find.ts'

export const nodePurge: Verb = {
  operands: oneOperand('NODE'),
  about: `
Forgets a node with its events, eligibility and drain. One whose agent lives registers again within
seconds, as a new one.
`,
  flags: connectionFlags,
  async run(call) {
    const client = await ApiClient.open(call)
    const id = await chosenNode(client, call)
    await client.ask('PUT', `/v1/node/${id}/purge`)
    call.terminal.out(`Purged node ${JSON.stringify(id)}\n`)
    return exits.ok
  },
}
