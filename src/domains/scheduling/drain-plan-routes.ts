/** `GET /v1/node/:id/drain/plan`: what a drain would do. */
import { Type } from 'typebox'
import type { DescribedRoute } from '../../api/route.ts'
import { exampleId, flag, nullable, ok, optionally, text } from '../../api/shape.ts'
import { PlacementMetrics } from '../evaluations/shapes.ts'
import { drainActions } from './drain-plan.ts'
import { drainPlanMethods } from './drain-plan-methods.ts'
import { shownDrainPlan } from './drain-plan-shown.ts'

const Planned = Type.Object(
  {
    ID: text('Of the allocation'),
    Name: Type.String(),
    Namespace: Type.String(),
    JobID: Type.String(),
    TaskGroup: Type.String(),
    Action: Type.Enum([...drainActions], {
      description:
        'move: to another node; wait: no other has a place; end: it may run to its end; stop: nothing takes its place; stay',
    }),
    Reason: Type.String(),
    NodeID: text('Where it would go as things are; empty: nowhere'),
    NodeName: Type.String(),
    Metrics: nullable(PlacementMetrics),
  },
  { title: 'DrainPlanned' },
)

const DrainPlan = Type.Object(
  { NodeID: Type.String(), Allocations: Type.Array(Planned) },
  { title: 'DrainPlan' },
)

export const drainPlanRoutes: readonly DescribedRoute[] = [
  {
    method: 'GET',
    path: '/v1/node/:node_id/drain/plan',
    summary: 'What a drain of a client node would do',
    permission: 'node:read',
    params: { node_id: text('The whole UUID of the node') },
    query: optionally({
      force: flag('As of a drain that stops everything at once'),
      ignore_system_jobs: flag('As of a drain that leaves system jobs'),
    }),
    reply: ok(DrainPlan),
    errors: ['not_found'],
    example: { url: `/v1/node/${exampleId}/drain/plan`, status: 404 },
    handle: async (request) => {
      const planned = await request.call(drainPlanMethods.plan, {
        id: request.parameter('node_id'),
        force: request.search.boolean('force'),
        ignoresSystem: request.search.boolean('ignore_system_jobs'),
      })
      return { json: shownDrainPlan(planned) }
    },
  },
]
