/** What a node's agent asks of its server for the templates of its tasks; see `model.ts`. */
import { defineAgentContract } from '../../rpc/agent-contract.ts'
import { DataArgs, DataReply } from './model.ts'

export const data = defineAgentContract({
  name: 'templates.data',
  args: DataArgs,
  reply: DataReply,
})
