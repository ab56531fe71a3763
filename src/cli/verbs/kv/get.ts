/** `muster kv get`. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf, listOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient, ApiRefusal } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs, visibleLines } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { bytesOf, keyPath, lockText } from './key.ts'

export const kvGet: Verb = {
  operands: oneOperand('KEY'),
  about: `
Shows the value of a key: exactly its bytes in a pipe, with a line break on a terminal.
With -detailed also its flags, its indexes and who holds its lock.
`,
  flags: {
    detailed: { summary: 'Show all there is about the key', value: null },
    stale: { summary: 'From the agent asked, even if it lags behind', value: null },
    ...formatFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [key = ''] = operands
    const format = formatOf(flags)
    const client = await ApiClient.open(call)
    const answer = await client
      .get(keyPath(key), {
        namespace: client.settings.namespace,
        stale: flags.has('stale') ? '' : null,
      })
      .catch((error: unknown) => {
        if (!(error instanceof ApiRefusal) || error.status !== 404) throw error
        throw new MusterError('not_found', `there is no key ${JSON.stringify(key)}`)
      })
    const entry = objectOf(listOf(answer)[0])
    const value = bytesOf(entry)
    if (format.type === 'table' && !flags.has('detailed')) {
      terminal.out(terminal.outIsTerminal ? `${visibleLines(value.toString('utf8'))}\n` : value)
      return exits.ok
    }
    await show(call, entry, () =>
      pairs([
        ['Key', textOf(entry, 'Key')],
        ['Flags', integerOf(entry, 'Flags')],
        ['Lock', lockText(entry)],
        ['Create Index', integerOf(entry, 'CreateIndex')],
        ['Modify Index', integerOf(entry, 'ModifyIndex')],
        ['Value', value.toString('utf8')],
      ]),
    )
    return exits.ok
  },
}
