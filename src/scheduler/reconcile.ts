/**
 * Compares what a service or batch job wants with the allocations that there are: which stay, which stop, which are replaced, and
 * how many are missing. Knows no node but whether one is lost: where something goes is found afterwards.
 */
import { isClientTerminal, type AllocationRow } from '../domains/allocations/model.ts'
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import { freeNames, indexOfName } from './allocation-names.ts'
import { groupChange, type GroupChange } from './group-change.ts'
import { reschedulingOf } from './reschedule.ts'

export type ScheduledJob = {
  readonly spec: JobSpec
  readonly version: number
  readonly createIndex: number
  readonly jobModifyIndex: number
  readonly stop: boolean
}

/** Why an allocation is stopped, as its record says it. */
export const reasons = {
  jobStopped: 'alloc not needed as job is stopped',
  notNeeded: 'alloc not needed due to job update',
  updated: 'alloc is being updated due to job update',
  migrated: 'alloc is being migrated',
  /** Of a batch job: it is not placed again, and this is how the next evaluation knows. */
  drained: 'alloc is stopped as its node is drained',
  lost: 'alloc is lost since its node is down',
  rescheduled: 'alloc was rescheduled because it failed',
  infeasible: 'alloc not needed as its node does not fit the job any more',
} as const

export type Stop = {
  readonly row: AllocationRow
  readonly reason: string
  /** Its node is gone: no agent will say what became of it. */
  readonly lost: boolean
}

/** An allocation that is to be placed. */
export type Slot = {
  readonly name: string
  readonly previous: AllocationRow | null
  /** Of `previous`: null, it is stopped in any case or over; else only if there is a place for the new one. */
  readonly stop: Stop | null
  /** Of a failed one: after which delay it is placed anew. */
  readonly rescheduledAfterMs: number | null
}

export type GroupPlan = {
  readonly group: TaskGroup
  /** Live ones that stay. */
  readonly keep: readonly AllocationRow[]
  /** Of those, the ones that become of the newest version. */
  readonly inPlace: readonly AllocationRow[]
  readonly slots: readonly Slot[]
}

export type Reconciled = {
  readonly groups: readonly GroupPlan[]
  readonly stop: readonly Stop[]
  /** When a failed one is to be placed anew; null: none waits. */
  readonly followUpMs: number | null
}

export type ReconcileInput = {
  /** Null: there is none any more. */
  readonly job: ScheduledJob | null
  readonly allocations: readonly AllocationRow[]
  /** Of the version that it runs; null: it is not known any more. */
  readonly specOf: (row: AllocationRow) => JobSpec | null
  /** The node is down, or there is none. */
  readonly isLost: (nodeId: string) => boolean
  readonly isDraining: (nodeId: string) => boolean
  /** Whether the group may still run on the node of the allocation. */
  readonly isFeasible: (row: AllocationRow, group: TaskGroup) => boolean
  readonly nowMs: number
}

export function reconcile(input: ReconcileInput): Reconciled {
  const { job, allocations, isLost } = input
  if (job === null || job.stop) {
    return { groups: [], stop: stopAll(allocations, isLost, reasons.jobStopped), followUpMs: null }
  }
  const byGroup = Map.groupBy(allocations, ({ group }) => group)
  const plans = job.spec.TaskGroups.map((group) =>
    reconcileGroup({ ...input, job }, group, byGroup.get(group.Name) ?? []),
  )
  const named = new Set(job.spec.TaskGroups.map(({ Name }) => Name))
  const others = allocations.filter(({ group }) => !named.has(group))
  return {
    groups: plans,
    stop: [...stopAll(others, isLost, reasons.notNeeded), ...plans.flatMap(({ stop }) => stop)],
    followUpMs: earliest(plans.flatMap(({ followUpMs }) => followUpMs ?? [])),
  }
}

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
  input: ReconcileInput & { readonly job: ScheduledJob },
  group: TaskGroup,
  rows: readonly AllocationRow[],
): GroupPlan & { readonly stop: readonly Stop[]; readonly followUpMs: number | null } {
  const { job } = input
  const held = rows.flatMap((row) => holdOf(input, group, row) ?? [])
  const { stays, goes } = selected(held, group.Count)
  const stop = goes.flatMap((one) => stopOf(one, reasons.notNeeded))
  const slots: Slot[] = []
  for (const one of stays) {
    const end = ending[one.kind]
    if (end === undefined) continue
    stop.push(...stopOf(one, end.reason))
    if (!end.isReplaced) continue
    slots.push({
      name: one.row.name,
      // A lost one is replaced by another that knows nothing of it.
      previous: one.kind === 'lost' ? null : one.row,
      stop: null,
      rescheduledAfterMs: one.rescheduledAfterMs,
    })
  }
  const live = stays.flatMap(({ kind, row }) => (kind === 'live' ? [row] : []))
  const { inPlace, replace, keep } = updates(input, group, live)
  for (const row of replace) {
    const gone = { row, reason: reasons.updated, lost: false }
    slots.push({ name: row.name, previous: row, stop: gone, rescheduledAfterMs: null })
  }
  const missing = Math.max(0, group.Count - stays.length)
  const taken = new Set(stays.map(({ row }) => row.name))
  const names = freeNames(job.spec.ID, group.Name, { count: missing, taken })
  const added = names.map((name) => ({
    name,
    previous: null,
    stop: null,
    rescheduledAfterMs: null,
  }))
  return {
    group,
    keep,
    inPlace,
    slots: [...slots, ...added],
    stop,
    followUpMs: earliest(stays.flatMap(({ atMs }) => atMs ?? [])),
  }
}

function earliest(times: readonly number[]): number | null {
  return times.length === 0 ? null : Math.min(...times)
}

/** Null: it holds no place any more. */
function holdOf(
  { job, isLost, isDraining, nowMs }: ReconcileInput & { readonly job: ScheduledJob },
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
      // What failed with another version may succeed with this one.
      if (!isCurrent) return held('failed')
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

/** Of a batch job, stopped: it came to its end all the same, or a drain ended it for good. */
function hasDoneItsWork(row: AllocationRow): boolean {
  if (row.desiredDescription === reasons.drained) return true
  return (
    row.clientStatus === 'complete' &&
    row.tasks.length > 0 &&
    row.tasks.every(({ state, failed }) => state === 'dead' && !failed)
  )
}

/** At most `count`, and of each name one. */
function selected(
  held: readonly Held[],
  count: number,
): { readonly stays: readonly Held[]; readonly goes: readonly Held[] } {
  const best = held.toSorted(
    (left, right) =>
      goesFirst.indexOf(right.kind) - goesFirst.indexOf(left.kind) ||
      indexOf(left.row) - indexOf(right.row) ||
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

function indexOf({ name }: AllocationRow): number {
  return indexOfName(name) ?? Infinity
}

/** Nothing where it is stopped already, or over and kept as it is. */
function stopOf({ row, kind }: Held, reason: string): Stop[] {
  if (row.desiredStatus !== 'run') return []
  if (kind === 'done' && isClientTerminal(row)) return []
  return kind === 'lost'
    ? [{ row, reason: reasons.lost, lost: true }]
    : [{ row, reason, lost: false }]
}

/** Of live ones: which are of the newest version, become of it in place, or are replaced now. */
function updates(
  input: ReconcileInput & { readonly job: ScheduledJob },
  group: TaskGroup,
  live: readonly AllocationRow[],
) {
  const { job } = input
  const change = changeTo(input, group)
  const current = live.filter((row) => isOfVersion(row, job))
  const others = live
    .filter((row) => !isOfVersion(row, job))
    .map((row) => ({ row, isInPlace: change(row) }))
  const inPlace = others.flatMap(({ row, isInPlace }) => (isInPlace ? [row] : []))
  const outdated = others
    .flatMap(({ row, isInPlace }) => (isInPlace ? [] : [row]))
    .toSorted((left, right) => Number(isHealthy(left)) - Number(isHealthy(right)))
  const replaced = Math.min(outdated.length, room(group, current))
  const replace = outdated.slice(0, replaced)
  const later = outdated.slice(replaced)
  return { inPlace, replace, keep: [...current, ...inPlace, ...later] }
}

/** How many more may be replaced while those of the newest version are not all healthy yet. */
export function room(group: TaskGroup, current: readonly AllocationRow[]): number {
  const parallelMax = group.Update?.MaxParallel ?? 0
  if (parallelMax <= 0) return Infinity
  return Math.max(0, parallelMax - current.filter((row) => !isHealthy(row)).length)
}

/** Whether an allocation of another version becomes of the newest in place. */
export function changeTo(
  {
    specOf,
    isFeasible,
    job,
  }: Pick<ReconcileInput, 'specOf' | 'isFeasible'> & {
    readonly job: ScheduledJob
  },
  group: TaskGroup,
): (row: AllocationRow) => boolean {
  const byVersion = new Map<number, GroupChange>()
  return (row) => {
    // Of a job of the same name that was purged: it becomes none of this one.
    if (row.jobCreateIndex !== job.createIndex) return false
    const change = byVersion.get(row.jobVersion) ?? between(specOf(row), row.group, job.spec, group)
    byVersion.set(row.jobVersion, change)
    return change.type === 'inPlace' && (!change.looksAgain || isFeasible(row, group))
  }
}

function between(
  before: JobSpec | null,
  groupName: string,
  after: JobSpec,
  group: TaskGroup,
): GroupChange {
  const old = before?.TaskGroups.find(({ Name }) => Name === groupName)
  if (before === null || old === undefined) return { type: 'destructive' }
  return groupChange({ job: before, group: old }, { job: after, group })
}

export function isHealthy({ health }: AllocationRow): boolean {
  return health?.healthy === true
}

export function isOfVersion(row: AllocationRow, job: ScheduledJob): boolean {
  return row.jobVersion === job.version && row.jobCreateIndex === job.createIndex
}

/** All that are wanted to run and have not ended. */
export function stopAll(
  rows: readonly AllocationRow[],
  isLost: (nodeId: string) => boolean,
  reason: string,
): readonly Stop[] {
  return rows.flatMap((row): Stop[] => {
    if (row.desiredStatus !== 'run' || isClientTerminal(row)) return []
    return isLost(row.nodeId)
      ? [{ row, reason: reasons.lost, lost: true }]
      : [{ row, reason, lost: false }]
  })
}
