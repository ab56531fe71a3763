/** `muster operator raft transfer-leadership`. */
import { ApiClient } from '../../api/client.ts'
import { connectionFlags } from '../../api/settings.ts'
import { exits, noOperands, type Verb } from '../../verb.ts'
import { peerFlags, peerSearch } from './peers.ts'

export const raftTransferLeadership: Verb = {
  operands: noOperands,
  about: `
Hands leadership to the voter that is named, or to the one that is furthest along.
`,
  flags: { ...peerFlags, ...connectionFlags },
  async run(call) {
    const search = peerSearch(call.flags) ?? {}
    const client = await ApiClient.open(call)
    await client.ask('PUT', '/v1/operator/raft/transfer-leadership', { search })
    const to = search['id'] ?? search['address']
    call.terminal.out(`Transferred leadership${to === undefined ? '' : ` to ${String(to)}`}\n`)
    return exits.ok
  },
}
