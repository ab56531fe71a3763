/** Asking another server a method of kind `peer`. */
import type { Static, TSchema } from 'typebox'
import type { CallTarget, PeerLink } from './link.ts'
import type { PeerMethod } from './method.ts'

/** Rejects as `PeerLink.call` does, and with `internal` when the answer has another shape. */
export async function callPeer<Args extends TSchema, Reply extends TSchema>(
  link: PeerLink,
  target: CallTarget,
  method: PeerMethod<Args, Reply>,
  args: Static<Args>,
  timeoutMs: number,
): Promise<Static<Reply>> {
  const { name } = method
  const request = { method: name, args, token: null, remote: '', requestId: name, timeoutMs }
  const reply = await link.call(target, request)
  method.checkReply(reply)
  return reply
}
