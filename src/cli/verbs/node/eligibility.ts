/** `muster node eligibility`: whether a node takes new work. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { exits, type Verb } from '../../verb.ts'
import { chosenNode, nodeOperand, selfFlag } from './find.ts'

export const nodeEligibility: Verb = {
  operands: nodeOperand,
  about: `
Says whether a node takes new work. What runs on it stays. A node that is being drained cannot be
marked eligible: stop the drain first.
`,
  flags: {
    enable: { summary: 'It takes new work', value: null },
    disable: { summary: 'It takes none', value: null },
    ...selfFlag,
    ...connectionFlags,
  },
  async run(call) {
    const { flags, terminal } = call
    if (flags.has('enable') === flags.has('disable')) misused('say one of -enable and -disable')
    const client = await ApiClient.open(call)
    const id = await chosenNode(client, call)
    const word = flags.has('enable') ? 'eligible' : 'ineligible'
    await client.ask('PUT', `/v1/node/${id}/eligibility`, { json: { Eligibility: word } })
    terminal.out(`Node ${JSON.stringify(id)} is marked ${word} for scheduling\n`)
    return exits.ok
  },
}
