/** `muster operator raft remove-peer`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { misused } from '../../flags.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { peerFlags, peerSearch } from './peers.ts'

export const raftRemovePeer: Verb = {
  operands: noOperands,
  about: `
Takes a server out of the consensus group. Stop it first, or it may ask to join again.
`,
  flags: { ...peerFlags, ...connectionFlags },
  async run(call) {
    const search =
      peerSearch(call.flags) ?? misused('name the server to remove: -peer-id or -peer-address')
    const client = await ApiClient.open(call)
    await client.ask('DELETE', '/v1/operator/raft/peer', { search })
    call.terminal.out(`Removed peer ${String(search['id'] ?? search['address'])}\n`)
    return exits.ok
  },
}
