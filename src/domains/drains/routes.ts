/** `GET /v1/node/:id/drain`: what a drain waits for. */
import { dateText } from '../../lib/date-text.ts'
import type { DescribedRoute } from '../../api/route.ts'
import { blocking, exampleId, ok, text } from '../../api/shape.ts'
import { drainMethods, type Drained } from './methods.ts'
import { Drain } from './shapes.ts'

export const drainRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/node/:node_id/drain',
    summary: 'What the drain of a client node waits for',
    permission: 'node:read',
    params: { node_id: text('The whole UUID of the node') },
    query: blocking,
    reply: ok(Drain),
    errors: ['not_found'],
    example: { url: `/v1/node/${exampleId}/drain`, status: 404 },
    handle: async (request) => {
      const args = { id: request.parameter('node_id') }
      const { value } = await request.query(drainMethods.read, args)
      if (value === null) return { status: 404, text: 'node not found' }
      return { jsonOf: () => shown(value) }
    },
  },
]

function shown({ node: { id, drain }, waiting }: Drained) {
  const forceMs = drain?.forceMs ?? null
  return {
    NodeID: id,
    Drain: drain !== null,
    ForceDeadline: forceMs === null ? null : dateText(forceMs),
    Waiting: waiting.map(({ row, reason }) => ({
      ID: row.id,
      Name: row.name,
      Namespace: row.namespace,
      JobID: row.jobId,
      TaskGroup: row.group,
      DesiredStatus: row.desiredStatus,
      ClientStatus: row.clientStatus,
      Reason: reason,
    })),
  }
}
