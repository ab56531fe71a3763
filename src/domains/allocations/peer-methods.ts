/** What servers ask the leader about allocations. */
import { Type } from 'typebox'
import { definePeerMethod } from '../../rpc/method.ts'
import { RowId } from '../evaluations/model.ts'
import { NodeId } from '../nodes/model.ts'
import { nodeHeartbeats } from '../nodes/services.ts'
import { reportsMax } from './feed-model.ts'
import { allocationById } from './queries.ts'
import { isNews, keepsHealthOf, reportAllocations, Reported } from './reported-commands.ts'

/** What agents said, each of its node as its uplink proved. */
export const reportedMethod = definePeerMethod({
  kind: 'peer',
  name: 'allocations.reports',
  at: 'leader',
  args: Type.Object({ reports: Type.Array(Reported, { maxItems: reportsMax }) }),
  reply: Type.Object({
    index: Type.Integer({ minimum: 0 }),
    unknown: Type.Array(Type.Object({ node: NodeId, id: RowId })),
  }),
  run: async (context, { reports }) => {
    const reader = context.read()
    // An agent whose server was lost says again what was taken already.
    const keepsHealth = keepsHealthOf(reader)
    const news = reports.filter(({ node, report }) => {
      const row = allocationById(reader, report.id)
      return row === null || row.nodeId !== node || isNews(row, report, keepsHealth)
    })
    if (news.length === 0) return { index: reader.appliedIndex, unknown: [] }
    // Of a node that is disconnected still, nothing that it runs would count.
    await context.service(nodeHeartbeats).back([...new Set(news.map(({ node }) => node))])
    const nowMs = Math.floor(context.clock.wallMs())
    const { index, outcome } = await context.propose(reportAllocations, { reports: news, nowMs })
    return { index, unknown: [...outcome.unknown] }
  },
})
