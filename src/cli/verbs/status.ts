/** `muster status`: who leads, and who is there, as the agent asked sees it. */
import { ApiClient } from '../api/client.ts'
import { connectionFlags } from '../api/settings.ts'
import { formatFlags, formatOf, show } from '../print/format.ts'
import { pairs } from '../print/table.ts'
import { exits, noOperands, type Verb } from '../verb.ts'
import { peersOf, peerStatusTable } from './raft/peers.ts'

export const status: Verb = {
  operands: noOperands,
  about: `
Shows the cluster as the agent asked sees it. A server is alive, failed, left, or unknown where the
agent has no sign of it, as a follower of another one without gossip. The exit code is 1 when it
knows no leader.
`,
  flags: { ...formatFlags, ...connectionFlags },
  async run(call) {
    formatOf(call.flags)
    const client = await ApiClient.open(call)
    const json = await client.get('/v1/operator/raft/configuration', { stale: '' })
    const { peers } = peersOf(json)
    const leader = peers.find(({ leads }) => leads)
    const voters = peers.filter(({ votes }) => votes).length
    await show(call, json, (style) => {
      const about = pairs([
        ['Agent', client.address.origin],
        [
          'Leader',
          leader === undefined
            ? { text: 'none', paint: style.bad }
            : { text: `${leader.name} (${leader.address})`, paint: style.good },
        ],
        ['Servers', `${peers.length}, ${voters} of them voters`],
      ])
      return `${about}\n${peerStatusTable(peers, style)}`
    })
    return leader === undefined ? exits.failed : exits.ok
  },
}
