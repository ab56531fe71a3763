/** `muster kv delete`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { assertDone, casFlag, conditionsOf, keyPath, lockFlags } from './key.ts'

export const kvDelete: Verb = {
  operands: oneOperand('KEY'),
  about: `
Deletes a key for good, and its lock with it. Deleting what does not exist succeeds.
With -recurse, all keys that begin with KEY.
`,
  flags: {
    recurse: { summary: 'All keys that begin so', value: null },
    ...casFlag,
    ...lockFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [key = ''] = operands
    const conditions = conditionsOf(flags)
    const recurse = flags.has('recurse')
    if (recurse && conditions['cas'] !== undefined) misused('-recurse and -cas exclude each other')
    const client = await ApiClient.open(call)
    const { json } = await client.ask('DELETE', keyPath(key), {
      search: {
        ...conditions,
        recurse: recurse ? '' : null,
        namespace: client.settings.namespace,
      },
    })
    assertDone(json, `${JSON.stringify(key)} is at another index`)
    terminal.out(`Deleted ${recurse ? 'all keys below' : 'key'} ${JSON.stringify(key)}\n`)
    return exits.ok
  },
}
