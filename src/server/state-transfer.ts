/** The call by which a server that lost its state asks another member for one: what it asks, and what is answered. */
import { Type } from 'typebox'
import { Validator } from '../fsm/validator.ts'
import { MusterError } from '../lib/errors.ts'
import type { RaftNode } from '../raft/node.ts'
import type { RaftNodeOptions } from '../raft/raft.ts'
import type { PeerLink } from '../rpc/link.ts'
import type { AddressOf } from './consensus.ts'

export const sendStateCall = 'server.sendState'

const callTimeoutMs = 2_000

const Args = new Validator(
  Type.Object({
    /** Of the server that asks. It gets the state at the address that the configuration of the cluster has for it. */
    id: Type.String({ minLength: 1, maxLength: 64 }),
    atLeast: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  }),
)

export function requestStateBy(options: {
  readonly id: string
  readonly link: PeerLink
  readonly addressOf: AddressOf
}): NonNullable<RaftNodeOptions['requestState']> {
  const { id, link, addressOf } = options
  return async (member, atLeast) => {
    await link.call(
      { address: addressOf(member), id: member.id },
      {
        method: sendStateCall,
        args: { id, atLeast },
        token: null,
        remote: '',
        requestId: sendStateCall,
        timeoutMs: callTimeoutMs,
      },
    )
  }
}

/** The answer comes at once; the snapshot is on its way then. */
export function answerSendState(node: RaftNode | null, args: unknown): null {
  if (!Args.accepts(args)) {
    throw new MusterError('invalid_argument', `${sendStateCall} needs id and atLeast`)
  }
  if (node === null) throw new MusterError('unavailable', 'this server is starting')
  node.sendState(args.id, args.atLeast)
  return null
}
