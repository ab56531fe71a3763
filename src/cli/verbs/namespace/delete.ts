/** `muster namespace delete`. */
import { ApiClient, ApiRefusal } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { namespacePath, unknownNamespace } from './describe.ts'

export const namespaceDelete: Verb = {
  operands: oneOperand('NAME'),
  about: `
Deletes a namespace that holds nothing any more.
`,
  flags: connectionFlags,
  async run(call) {
    const [name = ''] = call.operands
    const client = await ApiClient.open(call)
    await client.ask('DELETE', namespacePath(name)).catch((error: unknown) => {
      throw error instanceof ApiRefusal && error.status === 404 ? unknownNamespace(name) : error
    })
    call.terminal.out(`Deleted namespace ${JSON.stringify(name)}\n`)
    return exits.ok
  },
}
