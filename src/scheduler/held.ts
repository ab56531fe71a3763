/** What each allocation of a group is to become, where it holds a place, and which of them stay where there are too many. */
import { isClientTerminal, wasCutShort, type AllocationRow } from '../domains/allocations/model.ts'
import { endsWithinMs, mayRunUntilMs } from '../domains/allocations/window-model.ts'
import { isCanarying } from '../domains/deployments/model.ts'
import { scoreName } from '../domains/evaluations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { indexOfName } from './allocation-names.ts'
import { reschedulingOf } from './reschedule.ts'
import type { Rollout } from './rollout.ts'
import {
  lostStop,
  reasons,
  type ScheduledJob,
  type Stop,
  type WantedInput,
} from './scheduled-job.ts'
import { isOfVersion } from './updates.ts'

export type HeldInput = WantedInput & { readonly rollout: Rollout }

/** What an allocation that holds a place of its group is to become. */
export type Held = {
  readonly row: AllocationRow
  /**
   * `leaving`: lost, and not replaced yet, for it may still end. `away`: cut off, and it may come back. `returning`: its node is back,
   * and has not said what became of it. `waiting`: failed, and not to be placed anew, or not yet. `drained`: it is stopped, and its
   * work is not begun again.
   */
  readonly kind:
    | 'lost'
    | 'leaving'
    | 'away'
    | 'failed'
    | 'waiting'
    | 'migrating'
    | 'returning'
    | 'live'
    | 'drained'
    | 'done'
  readonly rescheduledAfterMs: number | null
  /** When one that waits, or is leaving, is to be looked at again; of one that is away, when it is lost. */
  readonly atMs: number | null
}

/** What goes first where there are too many. */
const goesFirst: readonly Held['kind'][] = [
  'lost',
  'leaving',
  'away',
  'failed',
  'waiting',
  'migrating',
  'returning',
  'live',
  'drained',
  'done',
]

/** Why it is stopped, of those that are, and whether another takes its place. */
export const ending: Readonly<
  Partial<Record<Held['kind'], { readonly reason: string; readonly isReplaced: boolean }>>
> = {
  lost: { reason: reasons.lost, isReplaced: true },
  leaving: { reason: reasons.lost, isReplaced: false },
  failed: { reason: reasons.rescheduled, isReplaced: true },
  migrating: { reason: reasons.migrated, isReplaced: true },
  drained: { reason: reasons.drained, isReplaced: false },
}

/** Of the same group, those that hold a place. */
export function holdsOf(
  input: HeldInput,
  group: TaskGroup,
  rows: readonly AllocationRow[],
): readonly Held[] {
  const newest = new Map<string, number>()
  for (const { name, createIndex } of rows) {
    newest.set(name, Math.max(createIndex, newest.get(name) ?? 0))
  }
  return rows.flatMap((row) => {
    const isReplaced = (newest.get(row.name) ?? 0) > row.createIndex
    return holdOf(input, group, row, isReplaced) ?? []
  })
}

/** Null: it holds no place any more. */
function holdOf(
  input: HeldInput,
  group: TaskGroup,
  row: AllocationRow,
  isReplaced: boolean,
): Held | null {
  const { job, nowMs, rollout } = input
  const isBatch = job.spec.Type === 'batch'
  const isCurrent = isOfVersion(row, job)
  if (row.desiredStatus !== 'run') {
    if (isBatch && isCurrent && hasDoneItsWork(row)) return held(row, 'done')
    return isReplaced ? null : stillLeaving(input, row)
  }
  switch (row.clientStatus) {
    case 'complete':
      return isBatch && isCurrent && !wasCutShort(row) ? held(row, 'done') : null
    case 'lost':
      return null
    case 'failed': {
      if (rollout.isGivenUp(row) && row.rescheduleNow !== true) return held(row, 'waiting')
      // What failed with another version may succeed with this one, unless that does not take its place yet.
      if (!isCurrent && takesPlaces(rollout, group)) return held(row, 'failed')
      const again = reschedulingOf(row, group.ReschedulePolicy, nowMs)
      if (again.type === 'now') return held(row, 'failed', { rescheduledAfterMs: again.delayMs })
      return held(row, 'waiting', { atMs: again.type === 'at' ? again.timeMs : null })
    }
    case 'pending':
    case 'running':
    case 'unknown':
      return holdOfLive(input, row)
  }
}

/** It runs, as far as anybody knows. */
function holdOfLive(
  { job, whereIs, isForced, specOf, nowMs }: HeldInput,
  row: AllocationRow,
): Held {
  const where = whereIs(row)
  if (where.type === 'lost') {
    const mayRunMs = endsWithinMs(row, specOf(row))
    return mayRunMs > 0 ? held(row, 'leaving', { atMs: nowMs + mayRunMs }) : held(row, 'lost')
  }
  if (row.migrate) {
    // Work that a drain does not let end is not begun again: its operator asked for the machine. What is stopped by itself before is.
    const isOver = job.spec.Type === 'batch' && isOfVersion(row, job) && isForced(row)
    return held(row, isOver ? 'drained' : 'migrating')
  }
  if (where.type === 'away') return held(row, 'away', { atMs: where.untilMs })
  return held(row, row.clientStatus === 'unknown' ? 'returning' : 'live')
}

/** Of one that was lost and that nothing took the place of: its agent may still be ending it. */
function stillLeaving({ job, specOf, nowMs }: HeldInput, row: AllocationRow): Held | null {
  if (row.jobCreateIndex !== job.createIndex) return null
  const untilMs = mayRunUntilMs(row, specOf)
  if (untilMs === 0) return null
  return nowMs < untilMs ? held(row, 'leaving', { atMs: untilMs }) : held(row, 'lost')
}

function held(
  row: AllocationRow,
  kind: Held['kind'],
  when: Partial<Pick<Held, 'rescheduledAfterMs' | 'atMs'>> = {},
): Held {
  return { row, kind, rescheduledAfterMs: null, atMs: null, ...when }
}

/** The newest version does, of those before it. */
function takesPlaces(rollout: Rollout, group: TaskGroup): boolean {
  const state = rollout.stateOf(group)
  return rollout.isMoving && (state === null || !isCanarying(state))
}

/** Of work that is done once, stopped: it came to its end all the same, or a drain ended it for good. */
export function hasDoneItsWork(row: AllocationRow): boolean {
  if (row.desiredDescription === reasons.drained) return true
  return row.clientStatus === 'complete' && row.tasks.length > 0 && !wasCutShort(row)
}

/**
 * Of those that are cut off, or come back from it: `aside` stand the ones whose places others hold meanwhile. Of a name of which all are
 * cut off, one stays that is to be replaced.
 */
export function apart(all: readonly Held[]): {
  readonly here: readonly Held[]
  readonly aside: readonly Held[]
} {
  const isOut = ({ kind }: Held): boolean => kind === 'away' || kind === 'returning'
  const here = all.filter((one) => !isOut(one))
  const names = new Set(here.map(({ row }) => row.name))
  const aside: Held[] = []
  const out = all.filter(isOut).toSorted(
    (left, right) =>
      // One that is coming back needs no other.
      Number(left.kind === 'away') - Number(right.kind === 'away') ||
      right.row.createIndex - left.row.createIndex ||
      (left.row.id < right.row.id ? -1 : 1),
  )
  for (const one of out) {
    ;(names.has(one.row.name) ? aside : here).push(one)
    names.add(one.row.name)
  }
  return { here, aside }
}

/**
 * At most as many as are wanted, and of each name one: of the newest version if there is, and of that one that runs, the oldest
 * unless the group says more of those that were cut off.
 */
export function selected(
  all: readonly Held[],
  { Count: count, Disconnect }: Pick<TaskGroup, 'Count' | 'Disconnect'>,
  job: ScheduledJob,
): { readonly stays: readonly Held[]; readonly goes: readonly Held[] } {
  const best = all.toSorted(
    (left, right) =>
      goesFirst.indexOf(right.kind) - goesFirst.indexOf(left.kind) ||
      byIndex(left.row.name, right.row.name) ||
      Number(isOfVersion(right.row, job)) - Number(isOfVersion(left.row, job)) ||
      Number(isRunning(right)) - Number(isRunning(left)) ||
      byStrategy(Disconnect?.Reconcile ?? 'keep_original', left.row, right.row) ||
      left.row.createIndex - right.row.createIndex ||
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

/** Below 0: the left one stays. Of those that are equal by it the oldest does. */
function byStrategy(strategy: string, left: AllocationRow, right: AllocationRow): number {
  switch (strategy) {
    case 'keep_replacement':
      return right.createIndex - left.createIndex
    case 'longest_running':
      return startedMsOf(left) - startedMsOf(right)
    case 'best_score':
      return scoreOf(right) - scoreOf(left)
    default:
      return 0
  }
}

/** Since when all of its tasks that run do. */
function startedMsOf({ tasks }: AllocationRow): number {
  return Math.max(
    0,
    ...tasks.flatMap(({ state, startedMs }) => (state === 'running' ? (startedMs ?? []) : [])),
  )
}

/** How well its node fitted it when it was placed. */
function scoreOf({ metrics, nodeId }: AllocationRow): number {
  const found = metrics.scores.find(([node, name]) => node === nodeId && name === scoreName)
  return found?.[2] ?? 0
}

function isRunning({ row }: Held): boolean {
  return row.clientStatus === 'running'
}

export function byIndex(left: string, right: string): number {
  return (indexOfName(left) ?? Infinity) - (indexOfName(right) ?? Infinity)
}

/** Nothing where it is stopped already, or over and kept as it is. */
export function stopOf({ row, kind }: Held, reason: string): Stop[] {
  if (row.desiredStatus !== 'run') return []
  if (kind === 'done' && isClientTerminal(row)) return []
  return [kind === 'lost' || kind === 'leaving' ? lostStop(row) : { row, reason, lost: false }]
}

/** Why one goes that no place is left for. */
export function surplusReason({ row, kind }: Held, stays: readonly Held[]): string {
  const isBack = stays.some(
    (other) =>
      other.kind === 'live' &&
      other.row.name === row.name &&
      other.row.jobVersion === row.jobVersion &&
      // A newer one stays only where the group wants that.
      (other.row.createIndex < row.createIndex ||
        (other.row.createIndex > row.createIndex && row.clientStatus === 'running')),
  )
  return kind === 'live' && isBack ? reasons.reconnected : reasons.notNeeded
}
