/** `muster session info`. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { checksOf, lockDelayOf, ttlOf } from './session.ts'

export const sessionInfo: Verb = {
  operands: oneOperand('ID'),
  flags: { ...formatFlags, ...namespaceFlag, ...connectionFlags },
  async run(call) {
    const [id = ''] = call.operands
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const path = `/v1/session/info/${encodeURIComponent(id)}`
    const [found] = listOf(await client.get(path, { namespace: client.settings.namespace }))
    if (found === undefined) {
      throw new MusterError('not_found', `there is no session ${JSON.stringify(id)}`)
    }
    const session = objectOf(found)
    await show(call, session, () =>
      pairs([
        ['ID', textOf(session, 'ID')],
        ['Name', textOf(session, 'Name')],
        ['Node', textOf(session, 'Node')],
        ['TTL', ttlOf(session)],
        ['Behavior', textOf(session, 'Behavior')],
        ['Lock Delay', lockDelayOf(session)],
        ['Node Checks', checksOf(session)],
        ['Create Index', integerOf(session, 'CreateIndex')],
      ]),
    )
    return exits.ok
  },
}
