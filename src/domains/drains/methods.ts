/** What may be asked about drains. */
import { Type } from 'typebox'
import { defineQuery } from '../../rpc/method.ts'
import { mustMay } from '../../rpc/refusal.ts'
import type { Reader } from '../../fsm/domain.ts'
import type { AllocationRow } from '../allocations/model.ts'
import { allocationsIndex } from '../allocations/queries.ts'
import { keyOfName } from '../catalog/model.ts'
import { checkWholeId } from '../evaluations/id-model.ts'
import { keyOfJob } from '../evaluations/model.ts'
import { evaluationsIndex, openEvaluationsOfJob } from '../evaluations/queries.ts'
import type { NodeRow } from '../nodes/model.ts'
import { nodeById } from '../nodes/queries.ts'
import { drainingNodes, roomOfGroups } from './queries.ts'
import { inNamespace, toNode } from '../../rpc/requirements.ts'
import { waitingOn, type Waiting } from './waiting-model.ts'

export type Drained = { readonly node: NodeRow; readonly waiting: readonly Waiting[] }

/** Of jobs that the caller may not read nothing is told. null: there is no such node. */
const read = defineQuery({
  kind: 'query',
  name: 'drains.read',
  long: true,
  args: Type.Object({ id: Type.String({ maxLength: 1_024 }) }),
  requires: () => ({ resource: 'none' }),
  query: async (reader, { id }, context): Promise<{ value: Drained | null; index: number }> => {
    const node = nodeById(reader, id.toLowerCase())
    mustMay(context, toNode(keyOfName(node?.spec.name ?? ''), 'read'), "'node:read' on the node")
    checkWholeId('node', id)
    const index = Math.max(
      node?.modifyIndex ?? 0,
      allocationsIndex(reader),
      evaluationsIndex(reader),
    )
    if (node === null) return { value: null, index }
    const draining = await drainingNodes(reader, [node.id])
    const groups = await roomOfGroups(reader, draining)
    const blocked = new Map<string, string | null>()
    for (const { row } of draining.flatMap(({ left }) => left)) {
      const job = keyOfJob(row)
      if (row.migrate && !blocked.has(job)) blocked.set(job, await blockedOf(reader, row))
    }
    const blockedBy = (row: AllocationRow) => blocked.get(keyOfJob(row)) ?? null
    const waiting = draining
      .flatMap((one) => waitingOn(one, groups, blockedBy))
      .filter(({ row }) => context.may(inNamespace(row.namespace, 'read-job')))
    return { value: { node, waiting }, index }
  },
})

async function blockedOf(reader: Reader, row: AllocationRow): Promise<string | null> {
  for await (const page of openEvaluationsOfJob(reader, row)) {
    const found = page.find(({ status }) => status === 'blocked')
    if (found !== undefined) return found.id
  }
  return null
}

export const drainMethods = { read }
