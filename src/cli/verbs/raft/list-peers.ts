/** `muster operator raft list-peers`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { formatFlags, formatOf, show } from '../../print/format.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { peersOf, peerTable } from './peers.ts'

export const raftListPeers: Verb = {
  operands: noOperands,
  about: `
Shows the servers as the agent asked knows them; it answers without a leader too.
`,
  flags: {
    stale: {
      summary: 'Understood for the sake of scripts: the answer is local always',
      value: null,
    },
    ...formatFlags,
    ...connectionFlags,
  },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/operator/raft/configuration', { stale: '' })
    await show(call, json, (style) => peerTable(peersOf(json).peers, style))
    return exits.ok
  },
}
