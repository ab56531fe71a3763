/** What client agents ask over their uplinks. */
import { codeOf, MusterError } from '../../lib/errors.ts'
import { askLeader } from '../../rpc/ask-leader.ts'
import { defineAgentMethod } from '../../rpc/method.ts'
import { drainSelf, heartbeat, register } from './agent-contracts.ts'
import { leavingMethod, registeredMethod } from './peer-methods.ts'
import { nodeUplinks } from './services.ts'

const registerOverUplink = defineAgentMethod(register, async (context, { spec }, agent) => {
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
})

const beat = defineAgentMethod(heartbeat, ({ service }, _args, { nodeId }) =>
  service(nodeUplinks).heartbeat(nodeId),
)

const drainOverUplink = defineAgentMethod(
  drainSelf,
  (context, { spec }, { nodeId: id, secretHash }) =>
    context.service(askLeader)(context, leavingMethod, { id, secretHash, spec }),
)

export const agentNodeMethods = [registerOverUplink, beat, drainOverUplink]
