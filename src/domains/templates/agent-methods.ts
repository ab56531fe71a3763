/** What a node's agent asks of its server for the templates of its tasks; see `model.ts`. */
import { MusterError } from '../../lib/errors.ts'
import { defineAgentMethod } from '../../rpc/method.ts'
import { nodeUplinks } from '../nodes/services.ts'
import { data } from './agent-contracts.ts'
import { dataWatches } from './services.ts'

export const templateData = defineAgentMethod(data, async ({ service, signal }, args, agent) => {
  try {
    return await service(dataWatches).next(agent.nodeId, args, signal)
  } catch (error) {
    if (error instanceof MusterError && error.code === 'rate_limited') {
      service(nodeUplinks).misbehaved(agent, error)
    }
    throw error
  }
})
