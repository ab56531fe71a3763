/** What servers ask the leader for about their own services. */
import { Type } from 'typebox'
import { definePeerMethod } from '../../rpc/method.ts'
import { AgentUpdate, applyAgentUpdate } from './sync.ts'

/** The agent has checked the permission of the client that registered. */
export const agentUpdateMethod = definePeerMethod({
  kind: 'peer',
  at: 'leader',
  name: 'catalog.agentUpdate',
  args: AgentUpdate,
  reply: Type.Unknown(),
  run: (context, update) => applyAgentUpdate(update, context),
})
