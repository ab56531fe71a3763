/**
 * Compares what a service or batch job wants with the allocations that there are: which stay, which stop, which are replaced, and
 * how many are missing. Knows no node but whether one is lost: where something goes is found afterwards.
 */
import { isClientTerminal, type AllocationRow } from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { freeNames, indexOfName } from './allocation-names.ts'
import { isCanarying } from '../domains/deployments/model.ts'
import { reschedulingOf } from './reschedule.ts'
import { isDeployed, wantedGroup, type GroupRollout, type Rollout } from './rollout.ts'
import {
  byGroup,
  lostStop,
  reasons,
  slot,
  stopAll,
  type GroupPlan,
  type OlderVersion,
  type ReconcileInput,
  type ScheduledJob,
  type Slot,
  type Stop,
  type WantedInput,
} from './scheduled-job.ts'
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

type Input = WantedInput & { readonly rollout: Rollout }

/** What an allocation that holds a place of its group is to become. */
type Held = {
  readonly row: AllocationRow
  /** `waiting`: failed, and not to be placed anew, or not yet. `drained`: it is stopped, and its work is not begun again. */
  readonly kind: 'lost' | 'failed' | 'waiting' | 'migrating' | 'drained' | 'live' | 'done'
  readonly rescheduledAfterMs: number | null
  /** When a waiting one is to be looked at again. */
  readonly atMs: number | null
}

/** What goes first where there are too many. */
const goesFirst: readonly Held['kind'][] = [
  'lost',
  'failed',
  'waiting',
  'migrating',
  'live',
  'drained',
  'done',
]

/** Why it is stopped, of those that are, and whether another takes its place. */
const ending: Readonly<
  Partial<Record<Held['kind'], { readonly reason: string; readonly isReplaced: boolean }>>
> = {
  lost: { reason: reasons.lost, isReplaced: true },
  failed: { reason: reasons.rescheduled, isReplaced: true },
  migrating: { reason: reasons.migrated, isReplaced: true },
  drained: { reason: reasons.drained, isReplaced: false },
}

function reconcileGroup(
  input: Input,
  group: TaskGroup,
  all: readonly AllocationRow[],
): GroupReconciled {
  const { job, rollout, isLost } = input
  const stray = all.filter((row) => rollout.isStray(row))
  const beside = all.filter((row) => rollout.isCanary(row))
  const rows = all.filter((row) => !stray.includes(row) && !beside.includes(row))
  const held = rows.flatMap((row) => holdOf(input, group, row) ?? [])
  const { stays, goes } = selected(held, group.Count, job)
  const live = stays.flatMap(({ kind, row }) => (kind === 'live' ? [row] : []))
  const { current, inPlace, outdated } = byVersion(input, group, live)
  const canaries = canariesOf(input, group, { beside, outdated, stays })
  const isCanarying = canaries.wanted > 0
  const { stop, slots } = replaced(input, group, stays, isCanarying)
  const fillsUp = rollout.isMoving && !isCanarying
  const missing = fillsUp ? Math.max(0, group.Count - stays.length) : 0
  const taken = new Set(stays.map(({ row }) => row.name))
  const added = freeNames(job.spec.ID, group.Name, { count: missing, taken }).map((name) =>
    slot(name),
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
    ...stopAll(stray, isLost, reasons.notNeeded),
    ...goes.flatMap((one) => stopOf(one, reasons.notNeeded)),
    ...stop,
    ...canaries.stop,
  ]
  const changesSpec = outdated.length + inPlace.length > 0
  const changes = changesSpec || placed.length > 0
  const isFirst = !all.some((row) => isOfVersion(row, job))
  const needsOne =
    rollout.current === null && isDeployed(job, group) && changes && (changesSpec || isFirst)
  // What a promotion leaves over may stop with it: nothing else would have the job looked at again.
  const isSettled = !changes && !isCanarying
  return {
    group,
    keep: [...current, ...inPlace, ...later, ...canaries.keep],
    inPlace,
    slots: placed,
    stop: stops,
    followUpMs: earliest([...stays, ...canaries.held].flatMap(({ atMs }) => atMs ?? [])),
    rollout: {
      wanted: needsOne ? wantedGroup(group, canaries.wanted) : null,
      isComplete: isSettled && current.length === group.Count && current.every(isHealthy),
    },
  }
}

/** Those that end for another reason than the update, and what takes their places. */
function replaced(input: Input, group: TaskGroup, stays: readonly Held[], isCanarying: boolean) {
  const stop: Stop[] = []
  const slots: Slot[] = []
  for (const one of stays) {
    const end = ending[one.kind]
    if (end === undefined) continue
    stop.push(...stopOf(one, end.reason))
    if (!end.isReplaced) continue
    const { row, kind, rescheduledAfterMs } = one
    // A lost one is replaced by another that knows nothing of it.
    const previous = kind === 'lost' ? null : row
    const older = isCanarying ? olderVersion(input, group, row) : null
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
  const held = beside.flatMap((row) => holdOf(input, group, row) ?? [])
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
    if (ending[kind] === undefined) takes(row.name)
  }
  for (const one of held) {
    const { row, kind, rescheduledAfterMs } = one
    const end = ending[kind]
    // While nothing moves, what failed stays for its operator to see.
    if (end === undefined || (kind === 'failed' && !rollout.isMoving)) continue
    stop.push(...stopOf(one, end.reason))
    if (!rollout.isMoving || count >= wanted || names.has(row.name)) continue
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

/** Null: its version is not known any more, or has no such group. */
function olderVersion(
  { job, specOf }: Input,
  { Name }: TaskGroup,
  row: AllocationRow,
): OlderVersion | null {
  if (isOfVersion(row, job) || row.jobCreateIndex !== job.createIndex) return null
  const group = specOf(row)?.TaskGroups.find((one) => one.Name === Name)
  if (group === undefined) return null
  return { version: row.jobVersion, createIndex: row.jobCreateIndex, group }
}

function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times)
}

/** Null: it holds no place any more. */
function holdOf(
  { job, isLost, isDraining, nowMs, rollout }: Input,
  group: TaskGroup,
  row: AllocationRow,
): Held | null {
  const held = (
    kind: Held['kind'],
    when: Partial<Pick<Held, 'rescheduledAfterMs' | 'atMs'>> = {},
  ): Held => ({ row, kind, rescheduledAfterMs: null, atMs: null, ...when })
  const isBatch = job.spec.Type === 'batch'
  const isCurrent = isOfVersion(row, job)
  if (row.desiredStatus !== 'run') {
    return isBatch && isCurrent && hasDoneItsWork(row) ? held('done') : null
  }
  switch (row.clientStatus) {
    case 'complete':
      return isBatch && isCurrent ? held('done') : null
    case 'lost':
      return null
    case 'failed': {
      if (rollout.isGivenUp(row)) return held('waiting')
      // What failed with another version may succeed with this one, unless that is only tried yet.
      if (!isCurrent && !isTried(rollout, group)) return held('failed')
      const again = reschedulingOf(row, group.ReschedulePolicy, nowMs)
      if (again.type === 'now') return held('failed', { rescheduledAfterMs: again.delayMs })
      return held('waiting', { atMs: again.type === 'at' ? again.timeMs : null })
    }
    case 'pending':
    case 'running':
    case 'unknown':
      if (isLost(row.nodeId)) return held('lost')
      if (!row.migrate) return held('live')
      // Work that a drain does not let end is not begun again: its operator asked for the machine.
      return held(isBatch && isCurrent && isDraining(row.nodeId) ? 'drained' : 'migrating')
  }
}

function isTried(rollout: Rollout, group: TaskGroup): boolean {
  const state = rollout.stateOf(group)
  return state !== null && isCanarying(state)
}

/** Of a batch job, stopped: it came to its end all the same, or a drain ended it for good. */
function hasDoneItsWork(row: AllocationRow): boolean {
  if (row.desiredDescription === reasons.drained) return true
  return (
    row.clientStatus === 'complete' &&
    row.tasks.length > 0 &&
    row.tasks.every(({ state, failed }) => state === 'dead' && !failed)
  )
}

/** At most `count`, and of each name one, of the newest version if there is. */
function selected(
  held: readonly Held[],
  count: number,
  job: ScheduledJob,
): { readonly stays: readonly Held[]; readonly goes: readonly Held[] } {
  const best = held.toSorted(
    (left, right) =>
      goesFirst.indexOf(right.kind) - goesFirst.indexOf(left.kind) ||
      byIndex(left.row.name, right.row.name) ||
      Number(isOfVersion(right.row, job)) - Number(isOfVersion(left.row, job)) ||
      (left.row.id < right.row.id ? -1 : 1),
  )
  const stays: Held[] = []
  const goes: Held[] = []
  const names = new Set<string>()
  for (const one of best) {
    const isOne = stays.length < count && !names.has(one.row.name)
    ;(isOne ? stays : goes).push(one)
    if (isOne) names.add(one.row.name)
  }
  return { stays, goes }
}

function byIndex(left: string, right: string): number {
  return (indexOfName(left) ?? Infinity) - (indexOfName(right) ?? Infinity)
}

/** Nothing where it is stopped already, or over and kept as it is. */
function stopOf({ row, kind }: Held, reason: string): Stop[] {
  if (row.desiredStatus !== 'run') return []
  if (kind === 'done' && isClientTerminal(row)) return []
  return [kind === 'lost' ? lostStop(row) : { row, reason, lost: false }]
}
