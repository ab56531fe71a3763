/**
 * Compares what a service or batch job wants with the allocations that there are: which stay, which stop, which are replaced, and
 * how many are missing. Knows no node but whether one is lost: where something goes is found afterwards.
 */
import type { AllocationRow } from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { freeNames } from './allocation-names.ts'
import { awaitingOf, cutOff } from './away.ts'
import { isCanarying } from '../domains/deployments/model.ts'
import {
  apart,
  byIndex,
  ending,
  holdsOf,
  selected,
  stopOf,
  surplusReason,
  type Held,
  type HeldInput as Input,
} from './held.ts'
import { isDeployed, wantedGroup, type GroupRollout, type Rollout } from './rollout.ts'
import {
  byGroup,
  reasons,
  slot,
  stopAll,
  type GroupPlan,
  type ReconcileInput,
  type ScheduledJob,
  type Slot,
  type Stop,
} from './scheduled-job.ts'
import { olderVersion, servingVersion, type Serving } from './serving.ts'
import { earliest } from './times.ts'
import { byVersion, isHealthy, isOfVersion, room } from './updates.ts'

export { reasons, type ScheduledJob } from './scheduled-job.ts'

/** What becomes of one group. */
export type GroupReconciled = GroupPlan & {
  readonly stop: readonly Stop[]
  /** When a failed one is to be placed anew; null: none waits. */
  readonly followUpMs: number | null
  readonly rollout: GroupRollout
}

export type Reconciled = {
  readonly groups: readonly GroupReconciled[]
  readonly stop: readonly Stop[]
  readonly followUpMs: number | null
}

export function reconcile(input: ReconcileInput, rollout: Rollout): Reconciled {
  const { groups, stop } = byGroup(input, (job, group, rows) =>
    reconcileGroup({ ...input, job, rollout }, group, rows),
  )
  return {
    groups,
    stop,
    followUpMs: earliest(groups.flatMap(({ followUpMs }) => followUpMs ?? [])),
  }
}

function reconcileGroup(
  input: Input,
  group: TaskGroup,
  all: readonly AllocationRow[],
): GroupReconciled {
  const { job, rollout, whereIs } = input
  const stray = all.filter((row) => rollout.isStray(row))
  const beside = all.filter((row) => rollout.isCanary(row))
  const rows = all.filter((row) => !stray.includes(row) && !beside.includes(row))
  const { here, aside } = apart(holdsOf(input, group, rows))
  const { stays, goes } = selected(here, group, job)
  const names = new Set(stays.map(({ row }) => row.name))
  const [cutOffToo, unneeded] = split(aside, ({ row }) => names.has(row.name))
  const live = stays.flatMap(({ kind, row }) => (kind === 'live' ? [row] : []))
  const returning = stays.flatMap(({ kind, row }) => (kind === 'returning' ? [row] : []))
  const versions = byVersion(input, group, live)
  const { current, inPlace, outdated } = versions
  const canaries = canariesOf(input, group, { beside, outdated, stays })
  const isCanarying = canaries.wanted > 0
  const fillsUp = rollout.isMoving && !isCanarying
  const { stop, slots } = replaced(input, group, stays, fillsUp)
  const { older, count }: Serving = fillsUp
    ? { older: null, count: group.Count }
    : servingVersion(input, group, rows, versions, isCanarying)
  const missing = Math.max(0, count - stays.length)
  const heirlooms = leftToHeirs(job, group, rows)
  const added = freeNames(job.spec.ID, group.Name, { count: missing, taken: names }).map((name) =>
    slot(name, { older, previous: heirlooms.get(name) ?? null }),
  )
  const failing = stays.flatMap(({ kind, row }) =>
    isOfVersion(row, job) && (kind === 'waiting' || kind === 'failed') ? [row] : [],
  )
  const most = fillsUp ? room(group, [...current, ...failing], added.length) : 0
  const replace = outdated.slice(0, most)
  const later = outdated.slice(replace.length)
  const updated = replace.map((row) =>
    slot(row.name, { previous: row, stop: { row, reason: reasons.updated, lost: false } }),
  )
  const placed = [...slots, ...updated, ...added, ...canaries.slots]
  const stops = [
    ...stopAll(stray, whereIs, reasons.notNeeded),
    ...goes.flatMap((one) => stopOf(one, surplusReason(one, stays))),
    ...unneeded.flatMap((one) => stopOf(one, reasons.notNeeded)),
    ...stop,
    ...canaries.stop,
  ]
  const held = [...stays, ...cutOffToo, ...canaries.held]
  const changesSpec = outdated.length + inPlace.length > 0
  const changes = changesSpec || placed.length > 0
  const isFirst = !all.some((row) => isOfVersion(row, job))
  const needsOne =
    rollout.current === null && isDeployed(job, group) && changes && (changesSpec || isFirst)
  // What a promotion leaves over may stop with it: nothing else would have the job looked at again.
  const isSettled = !changes && !isCanarying
  return {
    group,
    keep: [...current, ...inPlace, ...later, ...returning, ...canaries.keep],
    inPlace,
    slots: placed,
    stop: stops,
    ...cutOff(held),
    awaiting: awaitingOf(held),
    followUpMs: earliest(
      [...stays, ...canaries.held].flatMap(({ kind, atMs }) =>
        kind === 'away' || atMs === null ? [] : [atMs],
      ),
    ),
    rollout: {
      wanted: needsOne
        ? wantedGroup(group, { desiredCanaries: canaries.wanted, desiredTotal: group.Count })
        : null,
      // Nothing says of a group that is none of the deployment whether it is healthy.
      isComplete:
        isSettled &&
        (rollout.stateOf(group) === null ||
          (current.length === group.Count && current.every(isHealthy))),
      isVoid: false,
    },
  }
}

/** Why one was stopped before there was a place for what replaces it. */
const replacedLater: ReadonlySet<string> = new Set([
  reasons.updated,
  reasons.migrated,
  reasons.rescheduled,
])

/** By name, those that were, of a group whose allocations take over the data of those before them. */
function leftToHeirs(
  job: ScheduledJob,
  group: TaskGroup,
  rows: readonly AllocationRow[],
): ReadonlyMap<string, AllocationRow> {
  if (!group.EphemeralDisk.Sticky) return new Map()
  const newest = new Map<string, AllocationRow>()
  for (const row of rows) {
    if (row.createIndex >= (newest.get(row.name)?.createIndex ?? 0)) newest.set(row.name, row)
  }
  const left = [...newest].filter(
    ([, row]) =>
      replacedLater.has(row.desiredDescription) &&
      row.jobCreateIndex === job.createIndex &&
      row.next === '',
  )
  return new Map(left)
}

/** Those that end for another reason than the update, and what takes their places. */
function replaced(input: Input, group: TaskGroup, stays: readonly Held[], fillsUp: boolean) {
  const stop: Stop[] = []
  const slots: Slot[] = []
  for (const one of stays) {
    const { row, kind, rescheduledAfterMs } = one
    const end = ending[kind]
    if (end !== undefined) stop.push(...stopOf(one, end.reason))
    const isAway = kind === 'away' && group.Disconnect?.Replace !== false
    if (end?.isReplaced !== true && !isAway) continue
    // A lost one is replaced by another that knows nothing of it.
    const previous = kind === 'lost' ? null : row
    const older = fillsUp ? null : olderVersion(input, group, row)
    slots.push(slot(row.name, { previous, rescheduledAfterMs, older }))
  }
  return { stop, slots }
}

/** What a group has of canaries, and lacks. */
type Canaries = {
  /** 0: it tries none now. */
  readonly wanted: number
  readonly held: readonly Held[]
  readonly keep: readonly AllocationRow[]
  readonly stop: readonly Stop[]
  readonly slots: readonly Slot[]
}

function canariesOf(
  input: Input,
  group: TaskGroup,
  {
    beside,
    outdated,
    stays,
  }: {
    readonly beside: readonly AllocationRow[]
    readonly outdated: readonly AllocationRow[]
    readonly stays: readonly Held[]
  },
): Canaries {
  const { job, rollout } = input
  const wanted = canariesWanted(input, group, outdated)
  const held = holdsOf(input, group, beside)
  const stop: Stop[] = []
  const slots: Slot[] = []
  const keep: AllocationRow[] = []
  const names = new Set<string>()
  let count = 0
  const takes = (name: string): void => {
    names.add(name)
    count += 1
  }
  for (const { row, kind } of held) {
    if (kind === 'live') keep.push(row)
    if (ending[kind]?.isReplaced !== true) takes(row.name)
  }
  for (const one of held) {
    const { row, kind, rescheduledAfterMs } = one
    const end = ending[kind]
    // While nothing moves, what failed stays for its operator to see.
    if (end === undefined || (kind === 'failed' && !rollout.isMoving)) continue
    stop.push(...stopOf(one, end.reason))
    if (!end.isReplaced || !rollout.isMoving) continue
    if (count >= wanted || names.has(row.name)) continue
    takes(row.name)
    const previous = kind === 'lost' ? null : row
    slots.push(slot(row.name, { previous, rescheduledAfterMs, isCanary: true }))
  }
  const missing = rollout.isMoving ? Math.max(0, wanted - count) : 0
  const older = outdated.map(({ name }) => name).toSorted(byIndex)
  const first = older.filter((name) => !names.has(name)).slice(0, missing)
  const taken = new Set([...names, ...first, ...stays.map(({ row }) => row.name)])
  const more = missing - first.length
  const others = freeNames(job.spec.ID, group.Name, { count: more, taken })
  slots.push(...[...first, ...others].map((name) => slot(name, { isCanary: true })))
  return { wanted, held, keep, stop, slots }
}

/** They go before an update that replaces something; of one that is promoted, none. */
function canariesWanted(
  { job, rollout }: Input,
  group: TaskGroup,
  outdated: readonly AllocationRow[],
): number {
  const state = rollout.stateOf(group)
  if (state !== null) return isCanarying(state) ? state.desiredCanaries : 0
  if (rollout.current !== null || outdated.length === 0 || !isDeployed(job, group)) return 0
  return group.Update?.Canary ?? 0
}

function split<Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [Item[], Item[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))]
}
