/** What a node's agent asks of its server for the templates of its tasks; see `model.ts`. */
import { defineAgentMethod } from '../../rpc/method.ts'
import { DataArgs, dataMethod, type DataReply } from './model.ts'
import { dataWatches } from './services.ts'

export const templateData = defineAgentMethod({
  kind: 'agent',
  name: dataMethod,
  args: DataArgs,
  run: ({ service, signal }, args, { nodeId }): Promise<DataReply> =>
    service(dataWatches).next(nodeId, args, signal),
})
