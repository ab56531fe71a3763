/** `muster session destroy`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'

export const sessionDestroy: Verb = {
  operands: oneOperand('ID'),
  about: `
Ends a session. What it holds is freed or deleted, as its behavior says, and held back for
its lock delay. Ending what does not exist succeeds.
`,
  flags: { ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const [id = ''] = call.operands
    const client = await ApiClient.open(call)
    await client.ask('PUT', `/v1/session/destroy/${encodeURIComponent(id)}`, {
      search: { namespace: client.settings.namespace },
    })
    call.terminal.out(`Ended session ${JSON.stringify(id)}\n`)
    return exits.ok
  },
}
