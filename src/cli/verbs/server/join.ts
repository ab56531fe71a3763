/** `muster server join`. */
import { MusterError } from '../../../lib/errors.ts'
import { integerOf, objectOf, textOf } from '../../api/answer.ts'
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { visible } from '../../print/table.ts'
import { exits, type Verb } from '../../verb.ts'

/** What the API takes at once. */
const addressesMax = 32

export const serverJoin: Verb = {
  operands: { usage: 'ADDRESS...', countMin: 1, countMax: addressesMax },
  about: `
Makes the agent join the members at the addresses, host or host:port, by gossip. One that answers
is enough: it knows the others. The port is 4648 unless given.
`,
  flags: { ...connectionFlags },
  async run(call) {
    const client = await ApiClient.open(call)
    const { json } = await client.ask('PUT', '/v1/agent/join', {
      search: { address: call.operands },
    })
    const answer = objectOf(json)
    const joined = integerOf(answer, 'num_joined')
    if (joined === '0') {
      // No member was there to be joined, and nothing went wrong.
      const reason = visible(textOf(answer, 'error')) || "that is the agent's own address"
      throw new MusterError('unavailable', `nobody was joined: ${reason}`)
    }
    call.terminal.out(`Joined ${joined} ${joined === '1' ? 'member' : 'members'}\n`)
    if (Object.hasOwn(answer, 'warning')) {
      call.terminal.err(`${visible(textOf(answer, 'warning'))}\n`)
    }
    return exits.ok
  },
}
