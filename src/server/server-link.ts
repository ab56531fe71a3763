/** Calls to servers by id, as the sharing of the cluster key wants them. */
import type { ClusterKeyLink } from '../domains/variables/cluster-key-share.ts'
import { clusterKeyMethod } from '../domains/variables/peer-methods.ts'
import { callPeer } from '../rpc/peer-call.ts'
import { MusterError } from '../lib/errors.ts'
import type { Raft } from '../raft/raft.ts'
import type { PeerLink } from '../rpc/link.ts'
import type { AddressOf } from './consensus.ts'

const callTimeoutMs = 2_000

export function serverLink(options: {
  readonly id: string
  readonly node: Raft
  readonly link: PeerLink
  readonly addressOf: AddressOf
}): ClusterKeyLink {
  const { id, node, link, addressOf } = options
  const members = () => node.status().configuration.members
  return {
    id,
    leaderId: () => node.status().leaderId,
    voterIds: () =>
      members()
        .filter(({ role }) => role === 'voter')
        .map((member) => member.id),
    async call(serverId, request) {
      const member = members().find((candidate) => candidate.id === serverId)
      if (member === undefined) {
        throw new MusterError('unavailable', `server ${serverId} is not a member of this cluster`)
      }
      const target = { address: addressOf(member), id: serverId }
      return callPeer(link, target, clusterKeyMethod, request, callTimeoutMs)
    },
  }
}
