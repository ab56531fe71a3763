/** What a node's agent asks of its server about its allocations; see `feed-model.ts`. Other nodes' allocations are none to it. */
import { MusterError } from '../../lib/errors.ts'
import { defineAgentMethod } from '../../rpc/method.ts'
import { nodeUplinks } from '../nodes/services.ts'
import { feed, read, report } from './agent-contracts.ts'
import { assignedTo } from './assigned-queries.ts'
import { allocationById } from './queries.ts'
import { allocationFeeds, reportBatches } from './services.ts'

const nextFeed = defineAgentMethod(feed, ({ service, signal }, args, { nodeId }) =>
  service(allocationFeeds).next(nodeId, args, signal),
)

const readOwn = defineAgentMethod(read, (context, { ids }, { nodeId }) =>
  assignedTo(context.read(), nodeId, ids),
)

const takeReports = defineAgentMethod(report, async (context, { reports }, agent) => {
  const { nodeId: node } = agent
  const reader = context.read()
  const foreign = reports.find(({ id }) => {
    const row = allocationById(reader, id)
    return row !== null && row.nodeId !== node
  })
  if (foreign !== undefined) {
    const text = `allocation ${foreign.id} is of another node`
    context.service(nodeUplinks).misbehaved(agent, new MusterError('permission_denied', text))
  }
  const batch = reports.map((one) => ({ node, report: one }))
  const { index, unknown } = await context.service(reportBatches).add(node, batch)
  return { index, unknown: unknown.filter((one) => one.node === node).map(({ id }) => id) }
})

export const allocationAgentMethods = [nextFeed, readOwn, takeReports]
