/** `muster var get`. */
import { MusterError } from '../../../lib/errors.ts'
import { objectOf, pairsOf } from '../../api/answer.ts'
import { ApiClient, ApiRefusal } from '../../api/client.ts'
import { connectionFlags, namespaceFlag } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { formatOf, outFlags, show } from '../../print/format.ts'
import { visibleLines } from '../../print/table.ts'
import { exits, oneOperand, type Verb } from '../../verb.ts'
import { describeVariable, variablePath } from './variable.ts'

export const varGet: Verb = {
  operands: oneOperand('PATH'),
  about: `
Shows a variable with its items. With -item only that item's value: exactly its bytes
in a pipe, with a line break on a terminal.
`,
  flags: {
    item: { summary: 'Only the value of this item', value: 'KEY' },
    stale: { summary: 'From the agent asked, even if it lags behind', value: null },
    ...outFlags,
    ...namespaceFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, operands, terminal } = call
    const [path = ''] = operands
    const item = flags.last('item')
    if (formatOf(flags).type !== 'table' && item !== undefined) {
      misused('-item prints the value as it is: leave the other format out')
    }
    const client = await ApiClient.open(call)
    const variable = await client
      .get(variablePath(path), {
        namespace: client.settings.namespace,
        stale: flags.has('stale') ? '' : null,
      })
      .catch((error: unknown) => {
        if (!(error instanceof ApiRefusal) || error.status !== 404) throw error
        throw new MusterError('not_found', `there is no variable ${JSON.stringify(path)}`)
      })
    if (item === undefined) {
      await show(call, variable, (style) => describeVariable(variable, style))
      return exits.ok
    }
    const found = pairsOf(objectOf(variable), 'Items').find(([key]) => key === item)
    if (found === undefined) {
      throw new MusterError(
        'not_found',
        `the variable ${JSON.stringify(path)} has no item ${JSON.stringify(item)}`,
      )
    }
    terminal.out(terminal.outIsTerminal ? `${visibleLines(found[1])}\n` : found[1])
    return exits.ok
  },
}
