/** How a method that runs on one server has the leader do a part of its work, wherever the leader is. */
import type { Static, TSchema } from 'typebox'
import type { LocalContext, PeerMethod } from './method.ts'
import { serviceKey } from './services.ts'

/**
 * Runs a peer method at the leader, here if this server leads. Rejects with what the method rejected with, or `no_leader`,
 * `unavailable`, `timeout`, `cancelled`, `outcome_unknown`. The leader hears of the caller's address and request, not its token.
 */
export type AskLeader = <Args extends TSchema, Reply extends TSchema>(
  from: Pick<LocalContext, 'caller' | 'signal'>,
  method: PeerMethod<Args, Reply>,
  args: Static<Args>,
) => Promise<Static<Reply>>

/** Provided by the dispatcher of a server. */
export const askLeader = serviceKey<AskLeader>('rpc.askLeader')
