/** What client agents ask over their uplinks on behalf of their nodes. */
import { Type } from 'typebox'
import { defineAgentContract } from '../../rpc/agent-contract.ts'
import { DrainSpec, NodeSpec } from './model.ts'

const Written = Type.Object({ index: Type.Integer() })

/** At each new uplink, and whenever what it tells has changed. */
export const register = defineAgentContract({
  name: 'nodes.register',
  args: Type.Object({ spec: NodeSpec }),
  reply: Written,
})

/** `ttlMs`: by then the next one is due. */
export const heartbeat = defineAgentContract({
  name: 'nodes.heartbeat',
  args: Type.Object({}),
  reply: Type.Object({ ttlMs: Type.Number({ minimum: 1_000, maximum: 86_400_000 }) }),
})

/** Before it goes for good. */
export const drainSelf = defineAgentContract({
  name: 'nodes.drainSelf',
  args: Type.Object({ spec: DrainSpec }),
  reply: Written,
})
