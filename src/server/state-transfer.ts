/** The call by which a server that lost its state asks another member for one: what it asks, and what is answered. */
import { Type } from 'typebox'
import type { Raft, RaftNodeOptions } from '../raft/raft.ts'
import type { PeerLink } from '../rpc/link.ts'
import { definePeerMethod } from '../rpc/method.ts'
import { callPeer } from '../rpc/peer-call.ts'
import { serviceKey } from '../rpc/services.ts'
import type { AddressOf } from './consensus.ts'

const callTimeoutMs = 2_000

export const stateSender = serviceKey<Pick<Raft, 'sendState'>>('server.stateSender')

/** The answer comes at once; the snapshot is on its way then. */
export const sendStateMethod = definePeerMethod({
  kind: 'peer',
  name: 'server.sendState',
  args: Type.Object({
    /** Of the server that asks. It gets the state at the address that the configuration of the cluster has for it. */
    id: Type.String({ minLength: 1, maxLength: 64 }),
    atLeast: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  }),
  reply: Type.Null(),
  run: ({ service }, { id, atLeast }) => {
    service(stateSender).sendState(id, atLeast)
    return null
  },
})

export function requestStateBy(options: {
  readonly id: string
  readonly link: PeerLink
  readonly addressOf: AddressOf
}): NonNullable<RaftNodeOptions['requestState']> {
  const { id, link, addressOf } = options
  return async (member, atLeast) => {
    const target = { address: addressOf(member), id: member.id }
    await callPeer(link, target, sendStateMethod, { id, atLeast }, callTimeoutMs)
  }
}
