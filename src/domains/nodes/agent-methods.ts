/** What client agents ask over their uplinks. */
import { Type } from 'typebox'
import { codeOf, MusterError } from '../../lib/errors.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { defineAgentMethod } from '../../rpc/method.ts'
import { DrainSpec, NodeSpec } from './model.ts'
import { leavingMethod, registeredMethod } from './peer-methods.ts'
import { nodeUplinks } from './services.ts'

/** At each new uplink, and whenever what it tells has changed. */
export const registerOverUplink = defineAgentMethod({
  kind: 'agent',
  name: 'nodes.register',
  args: Type.Object({ spec: NodeSpec }),
  run: async (context, { spec }, agent): Promise<{ readonly index: number }> => {
    const { nodeId: id, name, secretHash } = agent
    if (spec.name !== name) {
      throw new MusterError('invalid_argument', `the uplink is of node ${name}, not ${spec.name}`)
    }
    const uplinks = context.service(nodeUplinks)
    try {
      const registered = { id, spec, secretHash }
      const { index } = await context.service(askLeader)(context, registeredMethod, registered)
      uplinks.registered(id)
      return { index }
    } catch (error) {
      if (codeOf(error) === 'permission_denied') uplinks.unproven(id, error)
      throw error
    }
  },
})

export const heartbeat = defineAgentMethod({
  kind: 'agent',
  name: 'nodes.heartbeat',
  args: Type.Object({}),
  run: ({ service }, _args, { nodeId }): { readonly ttlMs: number } =>
    service(nodeUplinks).heartbeat(nodeId),
})

/** Before it goes for good. */
export const drainOverUplink = defineAgentMethod({
  kind: 'agent',
  name: 'nodes.drainSelf',
  args: Type.Object({ spec: DrainSpec }),
  run: (context, { spec }, { nodeId: id, secretHash }): Promise<{ readonly index: number }> =>
    context.service(askLeader)(context, leavingMethod, { id, secretHash, spec }),
})

export const agentNodeMethods = [registerOverUplink, heartbeat, drainOverUplink]
