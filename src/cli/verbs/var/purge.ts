/** `muster var purge`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { checkAndSet, checkIndexFlag, checkIndexOf } from './variable.ts'

export const varPurge: Verb = {
  operands: oneOperand('PATH'),
  about: `
Deletes a variable for good. Deleting what does not exist succeeds.
`,
  flags: { ...checkIndexFlag, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const [path = ''] = call.operands
    const cas = checkIndexOf(call.flags)
    const client = await ApiClient.open(call)
    await checkAndSet(client, 'DELETE', path, { cas, namespace: client.settings.namespace })
    call.terminal.out(`Purged variable ${JSON.stringify(path)}\n`)
    return exits.ok
  },
}
