/** `muster node meta`: the metadata of a node, as its agent's configuration has it. */
import { objectOf, pairsOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { pairs } from '../../print/table.ts'
import { exits, type Verb } from '../../verb.ts'
import { chosenNode, nodeOperand, readNode, selfFlag } from './find.ts'

export const nodeMeta: Verb = {
  operands: nodeOperand,
  flags: { ...selfFlag, ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const node = await readNode(client, await chosenNode(client, call))
    const meta = objectOf(node['Meta'])
    await show(call, meta, () => pairs(pairsOf(node, 'Meta')))
    if (Object.keys(meta).length === 0) call.terminal.err('The node has no metadata\n')
    return exits.ok
  },
}
