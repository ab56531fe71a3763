/**
 * What a client agent asks of the server that holds its uplink: a contract for each method, which both programs know. The server's
 * method is made of it, and the agent believes no answer of another shape.
 */
import type { Static, TSchema } from 'typebox'
import { replyCheckOf } from './method-check.ts'

/** Fields that older programs do not send are optional, in arguments and in replies. */
export type AgentContract<Args extends TSchema, Reply extends TSchema> = {
  /** `nodes.heartbeat`: what it is called over the wire. */
  readonly name: string
  readonly args: Args
  readonly reply: Reply
  /** What a server answered, once it has been looked at. Throws `internal` for another shape. */
  readonly checked: (reply: unknown) => Static<Reply>
}

export function defineAgentContract<Args extends TSchema, Reply extends TSchema>(
  contract: Pick<AgentContract<Args, Reply>, 'name' | 'args' | 'reply'>,
): AgentContract<Args, Reply> {
  const check: ReturnType<typeof replyCheckOf<Reply>> = replyCheckOf(contract)
  const checked = (reply: unknown): Static<Reply> => {
    check(reply)
    return reply
  }
  return { ...contract, checked }
}

/** Asks the server on the agent's own account. Rejects with `unavailable` while there is none, and as `checked` throws. */
export type AskServer = <Args extends TSchema, Reply extends TSchema>(
  contract: AgentContract<Args, Reply>,
  args: Static<Args>,
  timeoutMs: number,
) => Promise<Static<Reply>>
