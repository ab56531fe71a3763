/** What is over is forgotten: allocations that ended, then evaluations and deployments that none is left of. What is looked at again, stays. */
import { Type } from 'typebox'
import type { Applied, Reader } from '../../fsm/domain.ts'
import { encodeKey } from '../../fsm/keys.ts'
import { Count } from '../../fsm/row-schema.ts'
import { defineCommand, removeRow, TimeMs } from '../define.ts'
import { isActive } from '../deployments/model.ts'
import { deploymentById } from '../deployments/queries.ts'
import { deployments } from '../deployments/table.ts'
import { isBatchType } from '../evaluations/job-type-model.ts'
import {
  isTerminal as isOver,
  JobId,
  NamespaceName,
  RowId,
  workloadsVersion,
} from '../evaluations/model.ts'
import { evaluationById } from '../evaluations/queries.ts'
import { evaluations } from '../evaluations/table.ts'
import { isOldVersion, jobOf, versionOf, type VersionKey } from '../jobs/queries.ts'
import { jobVersions } from '../jobs/table.ts'
import { isClientTerminal, isTerminal, type AllocationRow } from './model.ts'
import { allocationById } from './queries.ts'
import { allocations } from './table.ts'

/** Rows of one entry: each has entries in many indexes. */
export const collectedMax = 128

const Ids = Type.Array(RowId, { maxItems: collectedMax })

/** `beforeMs`: what changed later stays. */
export const collectEnded = defineCommand({
  type: 'allocations.collect',
  since: workloadsVersion,
  args: Type.Object({
    allocations: Ids,
    evaluations: Ids,
    deployments: Type.Optional(Ids),
    beforeMs: TimeMs,
  }),
  load: async (reader, args) => {
    const { allocations: ids, evaluations: evaluationIds, beforeMs } = args
    const rows = ids.flatMap((id) => {
      const row = allocationById(reader, id)
      return row !== null && isCollectable(reader, row, beforeMs) ? [row] : []
    })
    const over = []
    for (const id of evaluationIds) {
      const row = evaluationById(reader, id)
      if (row === null || !isOver(row) || row.modifyMs > beforeMs) continue
      if (!(await hasAllocations(reader, 'byEval', id))) over.push(row)
    }
    const deployed = []
    for (const id of args.deployments ?? []) {
      const row = deploymentById(reader, id)
      if (row === null || isActive(row) || row.modifyMs > beforeMs) continue
      if (!(await hasAllocations(reader, 'byDeployment', id))) deployed.push(row)
    }
    return { rows, over, deployed }
  },
  apply: (_context, _args, { rows, over, deployed }): Applied<{ readonly count: number }> => ({
    changes: [
      ...rows.map((row) => removeRow(allocations, row)),
      ...over.map((row) => removeRow(evaluations, row)),
      ...deployed.map((row) => removeRow(deployments, row)),
    ],
    outcome: { count: rows.length + over.length + deployed.length },
  }),
})

const Version = Type.Object({
  namespace: NamespaceName,
  id: JobId,
  jobCreateIndex: Count,
  version: Count,
})

/** Versions that are none of their job's last ones, and that no allocation runs. */
export const collectVersions = defineCommand({
  type: 'allocations.collectVersions',
  since: workloadsVersion,
  args: Type.Object({ versions: Type.Array(Version, { maxItems: collectedMax }) }),
  load: async (reader, { versions }) => {
    const rows = []
    for (const key of versions) {
      const row = versionOf(reader, key)
      if (row !== null && (await isUnused(reader, key))) rows.push(row)
    }
    return rows
  },
  apply: (_context, _args, rows): Applied<{ readonly count: number }> => ({
    changes: rows.map((row) => removeRow(jobVersions, row)),
    outcome: { count: rows.length },
  }),
})

export async function isUnused(reader: Reader, key: VersionKey): Promise<boolean> {
  if (!isOldVersion(reader, key)) return false
  const { namespace, id, jobCreateIndex, version } = key
  const prefix = [namespace, id, jobCreateIndex, version]
  const next = await reader.nextBy(allocations, 'byVersion', prefix)
  return next?.startsWith(encodeKey(prefix)) !== true
}

/**
 * A batch job is done because its allocations are there that say so: they stay as long as it does, unless it is stopped. One that
 * failed and is still wanted waits for its replacement.
 */
export function isCollectable(reader: Reader, row: AllocationRow, beforeMs: number): boolean {
  if (!isClientTerminal(row) || row.modifyMs > beforeMs) return false
  const job = jobOf(reader, row.namespace, row.jobId)
  if (job === null || job.createIndex !== row.jobCreateIndex || job.stop) return true
  if (isBatchType(job.type) || row.desiredStatus === 'run') return false
  if (!isTerminal(row) || row.followupEval === '') return true
  const followup = evaluationById(reader, row.followupEval)
  return followup === null || isOver(followup)
}

async function hasAllocations(
  reader: Reader,
  index: 'byEval' | 'byDeployment',
  id: string,
): Promise<boolean> {
  const next = await reader.nextBy(allocations, index, [id])
  return next?.startsWith(encodeKey([id])) === true
}
