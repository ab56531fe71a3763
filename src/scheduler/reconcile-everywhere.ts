/** As `reconcile`, of jobs that run on every node that they fit: system, and sysbatch, which runs to its end once on each. */
import { isClientTerminal, wasCutShort, type AllocationRow } from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { allocationName } from './allocation-names.ts'
import {
  byGroup,
  reasons,
  slot,
  type GroupPlan,
  type ReconcileInput,
  type Slot,
  type Stop,
  type WantedInput,
} from './scheduled-job.ts'
import type { ScheduledNode } from './scheduled-node.ts'
import { byVersion, isOfVersion, room } from './updates.ts'
import { away, cutOff, type Away } from './away.ts'

export type EverywhereInput = ReconcileInput & {
  /** Ready ones in the job's datacenters. */
  readonly nodes: readonly ScheduledNode[]
  readonly mayRun: (node: ScheduledNode, group: TaskGroup) => boolean
  /** In the job's datacenters, ready or not. */
  readonly isInReach: (nodeId: string) => boolean
  /** What failed is placed again only for another reason than that it failed. */
  readonly keepsFailed: boolean
}

export type NodeSlot = Slot & { readonly node: ScheduledNode }

export type GroupEverywhere = Omit<GroupPlan, 'slots'> & { readonly slots: readonly NodeSlot[] }

export type ReconciledEverywhere = {
  readonly groups: readonly GroupEverywhere[]
  readonly stop: readonly Stop[]
}

export function reconcileEverywhere(input: EverywhereInput): ReconciledEverywhere {
  return byGroup(input, (job, group, rows) => ofGroup({ ...input, job }, group, rows))
}

type Input = EverywhereInput & WantedInput

function ofGroup(
  input: Input,
  group: TaskGroup,
  rows: readonly AllocationRow[],
): GroupEverywhere & { readonly stop: readonly Stop[] } {
  const { job, nodes, whereIs, isInReach, mayRun } = input
  const wanted = group.Count > 0
  const fitting = new Map(
    wanted ? nodes.flatMap((node) => (mayRun(node, group) ? [[node.id, node]] : [])) : [],
  )
  const ready = new Set(nodes.map(({ id }) => id))
  const stop: Stop[] = []
  const live: AllocationRow[] = []
  const cut: Away[] = []
  const held = new Set<string>()
  for (const row of rows) {
    if (row.desiredStatus === 'run' && !isClientTerminal(row)) {
      const reason = stopReason(row)
      if (reason !== null) stop.push({ row, reason, lost: reason === reasons.lost })
      else if (held.has(row.nodeId)) stop.push({ row, reason: reasons.notNeeded, lost: false })
      else {
        const where = whereIs(row)
        if (where.type === 'away') cut.push(away(row, where.untilMs))
        else live.push(row)
      }
      if (reason === null) held.add(row.nodeId)
    } else if (isOver(input, row)) {
      held.add(row.nodeId)
    }
  }
  const { current, inPlace, outdated: others } = byVersion(input, group, live)
  // One on a node that takes no work now stays as it is until it does.
  const outdated = others.filter(({ nodeId }) => fitting.has(nodeId))
  const replaced = new Set(outdated.slice(0, Math.min(outdated.length, room(group, current))))
  const name = allocationName(job.spec.ID, group.Name, 0)
  const slots: NodeSlot[] = []
  for (const row of replaced) {
    const node = fitting.get(row.nodeId)
    if (node === undefined) continue
    const gone = { row, reason: reasons.updated, lost: false }
    slots.push({ node, ...slot(name, { previous: row, stop: gone }) })
  }
  for (const node of fitting.values()) {
    if (held.has(node.id)) continue
    slots.push({ node, ...slot(name) })
  }
  return {
    group,
    keep: [...live.filter((row) => !replaced.has(row)), ...cut.map(({ row }) => row)],
    ...cutOff(cut),
    inPlace,
    slots,
    stop,
  }

  function stopReason(row: AllocationRow): string | null {
    if (whereIs(row).type === 'lost') return reasons.lost
    if (row.migrate) return reasons.migrated
    if (!wanted || !isInReach(row.nodeId)) return reasons.notNeeded
    return ready.has(row.nodeId) && !fitting.has(row.nodeId) ? reasons.infeasible : null
  }
}

/** It has ended, and its node needs no other. */
function isOver({ job, keepsFailed }: Input, row: AllocationRow): boolean {
  if (!isOfVersion(row, job) || row.desiredStatus !== 'run') return false
  if (row.clientStatus === 'failed') return keepsFailed || job.spec.Type === 'sysbatch'
  return row.clientStatus === 'complete' && job.spec.Type === 'sysbatch' && !wasCutShort(row)
}
