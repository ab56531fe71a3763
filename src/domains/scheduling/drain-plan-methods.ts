/** A drain is planned: what would move where, and what could not, found out by the leader on its own state. Nothing is written. */
import { Type } from 'typebox'
import { MusterError } from '../../lib/errors.ts'
import { defineLeaderMethod } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import { inNamespace, toNode } from '../../rpc/requirements.ts'
import { keyOfName } from '../catalog/model.ts'
import { checkWholeId } from '../evaluations/id-model.ts'
import { nodeById } from '../nodes/queries.ts'
import { drainPlan, type PlannedDrain } from './drain-plan.ts'

export type DrainPlanned = { readonly node: string; readonly plan: readonly PlannedDrain[] }

/** Of jobs that the caller may not read nothing is told. */
const plan = defineLeaderMethod({
  kind: 'leader',
  name: 'drains.plan',
  args: Type.Object({
    id: Type.String({ maxLength: 1_024 }),
    force: Type.Boolean(),
    ignoresSystem: Type.Boolean(),
  }),
  requires: () => ({ resource: 'none' }),
  run: async (context, { id, ...asked }): Promise<DrainPlanned> => {
    const reader = context.read()
    const node = nodeById(reader, id.toLowerCase())
    mustMay(context, toNode(keyOfName(node?.spec.name ?? ''), 'read'), "'node:read' on the node")
    checkWholeId('node', id)
    if (node === null) throw new MusterError('not_found', 'node not found')
    const planned = await drainPlan(reader, node.id, asked, context.clock)
    const shown = planned.filter(({ row }) => context.may(inNamespace(row.namespace, 'read-job')))
    return { node: node.id, plan: shown }
  },
})

export const drainPlanMethods = { plan }
