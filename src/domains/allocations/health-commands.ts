/** An operator says which allocations of a deployment are healthy: where the job leaves it to one, or against what agents found. */
import { Type } from 'typebox'
import type { Applied, Change } from '../../fsm/domain.ts'
import { defineCommand, replace, TimeMs } from '../define.ts'
import {
  changed,
  failed,
  foundDeployment,
  type DeploymentOutcome,
} from '../deployments/commands.ts'
import { descriptions, isActive } from '../deployments/model.ts'
import { RowId, workloadsVersion } from '../evaluations/model.ts'
import { DeploymentDrafts } from './deployed-commands.ts'
import { isTerminal, type AllocationRow } from './model.ts'
import { allocationById } from './queries.ts'
import { allocations } from './table.ts'

/** Of each kind in one entry. */
export const judgedMax = 128

const Ids = Type.Array(RowId, { maxItems: judgedMax })

/** Unhealthy ones fail the deployment. */
export const setHealth = defineCommand({
  type: 'allocations.setHealth',
  since: workloadsVersion,
  args: Type.Object({
    id: RowId,
    healthy: Ids,
    unhealthy: Ids,
    evaluationId: RowId,
    nowMs: TimeMs,
  }),
  load: (reader, { id, healthy, unhealthy }) => {
    const ids = new Set([...healthy, ...unhealthy])
    const rows = [...ids].flatMap((one) => allocationById(reader, one) ?? [])
    return { found: foundDeployment(reader, id), ids, rows }
  },
  apply: ({ index }, args, { found, ids, rows }): Applied<DeploymentOutcome> => {
    if (found === null) return { changes: [], outcome: { type: 'unknown' } }
    if (!isActive(found.row)) return refused(`the deployment is over: it is ${found.row.status}`)
    const { nowMs, evaluationId } = args
    const own = rows.filter((row) => row.deploymentId === args.id && !isTerminal(row))
    const foreign = [...ids].find((id) => !own.some((row) => row.id === id))
    if (foreign !== undefined) return refused(`allocation ${foreign} is not a live one of it`)
    const bad = new Set(args.unhealthy)
    const drafts = new DeploymentDrafts(new Map([[args.id, found.row]]), { index, nowMs })
    const changes: Change[] = own.map((row) => {
      const health = { healthy: !bad.has(row.id), timeMs: nowMs }
      const after: AllocationRow = { ...row, health, modifyMs: nowMs, modifyIndex: index }
      drafts.changed(row, after)
      return replace(allocations, row, after)
    })
    const row = drafts.of(args.id) ?? found.row
    const entry = { evaluationId, nowMs, index }
    const named = new Set(own.flatMap(({ id, group }) => (bad.has(id) ? [group] : [])))
    const reverts = row.groups.some(({ group, autoRevert }) => autoRevert && named.has(group))
    const description = descriptions.unhealthy
    const { changes: others, outcome } =
      bad.size === 0
        ? changed(found, row, found.job, entry)
        : failed(found, { ...entry, description, reverts }, row)
    return { changes: [...changes, ...others], outcome }
  },
})

function refused(reason: string): Applied<DeploymentOutcome> {
  return { changes: [], outcome: { type: 'refused', reason } }
}
