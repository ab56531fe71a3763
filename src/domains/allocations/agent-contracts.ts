/** What a node's agent asks of its server about its allocations; see `feed-model.ts`. */
import { defineAgentContract } from '../../rpc/agent-contract.ts'
import { Feed, FeedArgs, ReadArgs, ReadReply, ReportArgs, ReportReply } from './feed-model.ts'

export const feed = defineAgentContract({ name: 'allocations.feed', args: FeedArgs, reply: Feed })

export const read = defineAgentContract({
  name: 'allocations.read',
  args: ReadArgs,
  reply: ReadReply,
})

export const report = defineAgentContract({
  name: 'allocations.report',
  args: ReportArgs,
  reply: ReportReply,
})
