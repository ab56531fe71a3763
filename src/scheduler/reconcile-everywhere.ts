/** As `reconcile`, of jobs that run on every node that they fit: system, and sysbatch, which runs to its end once on each. */
import { isClientTerminal, wasCutShort, type AllocationRow } from '../domains/allocations/model.ts'
import { isCanarying as isTried } from '../domains/deployments/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { allocationName } from './allocation-names.ts'
import { awaitingOf, away, cutOff, type Away } from './away.ts'
import {
  canariesFirst,
  canariesWanted,
  chosenCanaries,
  olderVersionOf,
  type Candidates,
  type Chosen,
  type Emptied,
} from './canaries-everywhere.ts'
import { hasDoneItsWork } from './held.ts'
import { lastOf } from './older.ts'
import { isDeployedEverywhere, type Progress } from './rollout-everywhere.ts'
import type { Rollout } from './rollout.ts'
import {
  byGroup,
  reasons,
  slot,
  type GroupPlan,
  type OlderVersion,
  type ReconcileInput,
  type Slot,
  type Stop,
  type WantedInput,
} from './scheduled-job.ts'
import type { ScheduledNode } from './scheduled-node.ts'
import { byVersion, isHealthy, isOfVersion, room } from './updates.ts'

export type EverywhereInput = ReconcileInput & {
  /** Ready ones in the job's datacenters. */
  readonly nodes: readonly ScheduledNode[]
  readonly mayRun: (node: ScheduledNode, group: TaskGroup) => boolean
  /** In the job's datacenters, ready or not. */
  readonly isInReach: (nodeId: string) => boolean
  /** What failed is placed again only for another reason than that it failed. */
  readonly keepsFailed: boolean
  readonly rollout: Rollout
  readonly deploysSystemJobs: boolean
}

export type NodeSlot = Slot & { readonly node: ScheduledNode }

export type GroupEverywhere = Omit<GroupPlan, 'slots'> & {
  readonly slots: readonly NodeSlot[]
  readonly progress: Progress
}

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
  const { job, rollout } = input
  const fitting = new Map(
    group.Count > 0
      ? input.nodes.flatMap((node) => (input.mayRun(node, group) ? [[node.id, node]] : []))
      : [],
  )
  const { stop, live, cut, held } = standing(input, group, rows, fitting)
  const { current, inPlace, outdated: others } = byVersion(input, group, live)
  // One on a node that takes no work now stays as it is until it does.
  const outdated = others.filter(({ nodeId }) => fitting.has(nodeId))
  const mayBegin =
    !rollout.wasDeployed &&
    isDeployedEverywhere(input, group) &&
    // What was placed without a deployment would not count in one.
    !rows.some((row) => isOfVersion(row, job))
  const state = rollout.stateOf(group)
  const percent = group.Update?.Canary ?? 0
  // What some nodes run already, as after a way back, is not tried once more.
  const isNewTrial = mayBegin && percent > 0 && outdated.length > 0 && inPlace.length === 0
  const isCanarying = state === null ? isNewTrial : isTried(state)
  const older = isCanarying ? olderVersionOf(input, group, live, rows) : null
  const { over, empty } = emptiedOf({ ...input, older }, rows, fitting, held)
  const failing = over.filter((row) => row.clientStatus === 'failed' && isOfVersion(row, job))
  const due = new Set(empty.filter(({ last }) => last !== null && madeWay(last, job)))
  const fresh = empty.filter((one) => !due.has(one))
  const isOutside = ({ nodeId }: AllocationRow): boolean => !fitting.has(nodeId)
  const total = fitting.size + [...current, ...inPlace].filter(isOutside).length
  const mostNow = rollout.isMoving ? roomFor(group, current, failing, due.size) : 0
  const isOwn = (row: AllocationRow): boolean =>
    row.canary === true && row.deploymentId === rollout.current?.id
  const chosen = isCanarying ? canariesNow() : null
  const replaced = new Set(
    chosen?.replaced ?? outdated.slice(0, Math.min(outdated.length, mostNow)),
  )
  const tries = new Set(chosen?.emptied)
  const name = allocationName(job.spec.ID, group.Name, 0)
  const slots = [...replacing(), ...filling()]
  const changesSpec = outdated.length + inPlace.length > 0
  return {
    group,
    keep: [...live.filter((row) => !replaced.has(row)), ...cut.map(({ row }) => row)],
    ...cutOff(cut),
    awaiting: awaitingOf(cut),
    inPlace,
    slots,
    stop,
    progress: {
      begins: mayBegin && (changesSpec || slots.length > 0),
      state: rollout.active === null ? null : state,
      canariesWanted: chosen?.wanted ?? 0,
      total,
      fresh: slots.filter(({ previous }) => previous === null).length,
      isSettled:
        !isCanarying &&
        !changesSpec &&
        due.size === 0 &&
        (state === null ||
          (failing.length === 0 &&
            // One that is just back was not heard yet, and does not count.
            current.every((row) => isHealthy(row) && row.clientStatus !== 'unknown'))),
    },
  }

  function canariesNow(): Chosen {
    const wasOwn = ({ last }: Emptied): boolean => last !== null && isOwn(last)
    const goesOn = rollout.current === null || rollout.active !== null
    const candidates: Candidates = {
      own: [...current, ...failing].filter(isOwn).length,
      due: goesOn ? [...due] : [],
      tried: fresh.filter(wasOwn),
      outdated: canariesFirst(outdated),
      others: fresh.filter((one) => !wasOwn(one)),
    }
    const wanted = canariesWanted(percent, total, candidates)
    // While nothing moves, only what was begun is done.
    const now = rollout.isMoving ? wanted : 0
    return { ...chosenCanaries(now, candidates, mostNow), wanted }
  }

  function replacing(): readonly NodeSlot[] {
    return [...replaced].flatMap((row) => {
      const node = fitting.get(row.nodeId)
      if (node === undefined) return []
      const gone = { row, reason: reasons.updated, lost: false }
      return [{ node, ...slot(name, { previous: row, stop: gone, isCanary: isCanarying }) }]
    })
  }

  /** While canaries are tried, other nodes have the older version, or nothing where that does not fit. */
  function filling(): readonly NodeSlot[] {
    return empty.flatMap((one) => {
      const { node, last } = one
      const previous = due.has(one) ? last : null
      if (chosen === null) return [{ node, ...slot(name, { previous }) }]
      if (tries.has(one)) {
        return [{ node, ...slot(name, { previous, isCanary: true }) }]
      }
      if (older === null || !older.isInReach(node) || !input.mayRun(node, older.group)) return []
      return [{ node, ...slot(name, { older }) }]
    })
  }
}

/** What stops in any case, what runs, what is cut off, and which nodes have one so. */
function standing(
  { nodes, whereIs, isInReach }: Input,
  group: TaskGroup,
  rows: readonly AllocationRow[],
  fitting: ReadonlyMap<string, ScheduledNode>,
) {
  const ready = new Set(nodes.map(({ id }) => id))
  const stop: Stop[] = []
  const live: AllocationRow[] = []
  const cut: Away[] = []
  const held = new Set<string>()
  for (const row of rows) {
    if (row.desiredStatus !== 'run' || isClientTerminal(row)) continue
    const where = whereIs(row)
    const reason = where.type === 'lost' ? reasons.lost : stopReason(row)
    if (reason !== null) stop.push({ row, reason, lost: where.type === 'lost' })
    else if (held.has(row.nodeId)) stop.push({ row, reason: reasons.notNeeded, lost: false })
    else if (where.type === 'away') cut.push(away(row, where.untilMs))
    else live.push(row)
    if (reason === null) held.add(row.nodeId)
  }
  return { stop, live, cut, held }

  function stopReason(row: AllocationRow): string | null {
    if (row.migrate) return reasons.migrated
    if (group.Count === 0 || !isInReach(row.nodeId)) return reasons.notNeeded
    return ready.has(row.nodeId) && !fitting.has(row.nodeId) ? reasons.infeasible : null
  }
}

/** `over`: what has ended on nodes that need no other; `empty`: nodes that do. */
function emptiedOf(
  input: Input & { readonly older: OlderVersion | null },
  rows: readonly AllocationRow[],
  fitting: ReadonlyMap<string, ScheduledNode>,
  held: ReadonlySet<string>,
): { readonly over: readonly AllocationRow[]; readonly empty: readonly Emptied[] } {
  const byNode = Map.groupBy(rows, ({ nodeId }) => nodeId)
  const over: AllocationRow[] = []
  const empty: Emptied[] = []
  for (const node of fitting.values()) {
    if (held.has(node.id)) continue
    const here = byNode.get(node.id) ?? []
    const last = lastOf(here)
    const ended = here.find((row) => isOver(input, row, last))
    if (ended !== undefined) over.push(ended)
    else empty.push({ node, last })
  }
  return { over, empty }
}

/** It has ended, and its node needs no other. */
function isOver(
  { job, keepsFailed, older, rollout }: Input & { readonly older: OlderVersion | null },
  row: AllocationRow,
  last: AllocationRow | null,
): boolean {
  const isCurrent = isOfVersion(row, job)
  const isOnce = job.spec.Type === 'sysbatch'
  if (row.desiredStatus !== 'run') return isOnce && isCurrent && hasDoneItsWork(row)
  if (row.clientStatus === 'failed') {
    if (isOnce) return isCurrent
    if (!keepsFailed) return false
    // Where canaries failed for good, the node goes back to the older version.
    if (isCurrent) return older === null || rollout.active !== null || rollout.current === null
    return (
      row === last && older?.version === row.jobVersion && older.createIndex === row.jobCreateIndex
    )
  }
  return isOnce && isCurrent && row.clientStatus === 'complete' && !wasCutShort(row)
}

/** It was stopped for an update, and the place that it left was not taken yet. */
function madeWay(row: AllocationRow, job: Input['job']): boolean {
  if (row.jobCreateIndex !== job.createIndex || isOfVersion(row, job)) return false
  return row.desiredStatus === 'stop' && row.desiredDescription === reasons.updated
}

/** None while one of the newest version failed and is not placed again. */
function roomFor(
  group: TaskGroup,
  current: readonly AllocationRow[],
  failing: readonly AllocationRow[],
  coming: number,
): number {
  const most = room(group, current, coming)
  return failing.length > 0 && Number.isFinite(most) ? 0 : most
}
