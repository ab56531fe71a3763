/**
 * Compares what a service or batch job wants with the allocations that there are: which stay, which stop, which are replaced, and
 * how many are missing. Knows no node but whether one is lost: where something goes is found afterwards.
 */
import { isClientTerminal, type AllocationRow } from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { freeNames, indexOfName } from './allocation-names.ts'
import { reschedulingOf } from './reschedule.ts'
import {
  byGroup,
  lostStop,
  reasons,
  type GroupPlan,
  type ReconcileInput,
  type Slot,
  type Stop,
  type WantedInput,
} from './scheduled-job.ts'
import { byVersion, isOfVersion, room } from './updates.ts'

export { reasons, type ScheduledJob } from './scheduled-job.ts'

export type Reconciled = {
  readonly groups: readonly GroupPlan[]
  readonly stop: readonly Stop[]
  /** When a failed one is to be placed anew; null: none waits. */
  readonly followUpMs: number | null
}

export function reconcile(input: ReconcileInput): Reconciled {
  const { groups, stop } = byGroup(input, (job, group, rows) =>
    reconcileGroup({ ...input, job }, group, rows),
  )
  return {
    groups,
    stop,
    followUpMs: earliest(groups.flatMap(({ followUpMs }) => followUpMs ?? [])),
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
  input: WantedInput,
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
  { job, isLost, isDraining, nowMs }: WantedInput,
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
  return [kind === 'lost' ? lostStop(row) : { row, reason, lost: false }]
}

/** Of live ones: which are of the newest version, become of it in place, or are replaced now. */
function updates(input: WantedInput, group: TaskGroup, live: readonly AllocationRow[]) {
  const { current, inPlace, outdated } = byVersion(input, group, live)
  const replaced = Math.min(outdated.length, room(group, current))
  const later = outdated.slice(replaced)
  return {
    inPlace,
    replace: outdated.slice(0, replaced),
    keep: [...current, ...inPlace, ...later],
  }
}
