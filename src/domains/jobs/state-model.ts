/**
 * How the row of a registered job follows its allocations and evaluations. Whoever changes those writes the job's row with it, in
 * the same entry: `withWork`.
 */
import type { ChildCounts, GroupCounts, JobRow } from './table.ts'

/** Groups that a row counts; beyond it those that a job has no more go first. */
export const groupsCountedMax = 256

/** What became of an allocation, as agents say it. */
export type ClientStatus = 'pending' | 'running' | 'complete' | 'failed' | 'lost' | 'unknown'

/** An allocation whose status changed; `from` is null for a new one. What is collected stays counted. */
export type CountChange = {
  readonly group: string
  readonly from: ClientStatus | null
  readonly to: ClientStatus
}

type Counted = Exclude<keyof GroupCounts, 'group'>

const countedAs: Readonly<Record<ClientStatus, Counted>> = {
  pending: 'starting',
  running: 'running',
  complete: 'complete',
  failed: 'failed',
  lost: 'lost',
  unknown: 'unknown',
}

/** A new allocation has found its place, so it is queued no more. */
export function withCounts(row: JobRow, changes: readonly CountChange[]): JobRow {
  if (changes.length === 0) return row
  const groups = new Map(row.groups.map((counts) => [counts.group, { ...counts }]))
  for (const { group, from, to } of changes) {
    let counts = groups.get(group)
    if (counts === undefined) {
      if (groups.size >= groupsCountedMax) continue
      counts = noCounts(group)
      groups.set(group, counts)
    }
    const before = from === null ? 'queued' : countedAs[from]
    counts[before] = Math.max(0, counts[before] - 1)
    counts[countedAs[to]] += 1
  }
  return { ...row, groups: [...groups.values()] }
}

/** As an evaluation ended: how many of each group have no place yet. Groups that it does not name have none queued. */
export function withQueued(
  row: JobRow,
  queued: readonly (readonly [group: string, count: number])[],
): JobRow {
  const byGroup = new Map(queued)
  return {
    ...row,
    groups: row.groups.map((counts) => ({ ...counts, queued: byGroup.get(counts.group) ?? 0 })),
  }
}

/** Of a registration: the groups of the job, and older ones that still run something. */
export function countsFor(groups: readonly string[], before: JobRow | null): GroupCounts[] {
  const known = new Map(before?.groups.map((counts) => [counts.group, counts]))
  const named = new Set(groups)
  const others = [...known.values()].filter((counts) => !named.has(counts.group) && isLive(counts))
  return [...groups.map((group) => known.get(group) ?? noCounts(group)), ...others].slice(
    0,
    groupsCountedMax,
  )
}

/** Something of it runs, or may run as far as its node's agent told. */
export function hasLive({ groups }: Pick<JobRow, 'groups'>): boolean {
  return groups.some(isLive)
}

/**
 * `live`: an allocation of it has not ended, see `hasLive`. `openEvaluations`: one is pending or blocked. Both after the change.
 */
export function statusOf(
  { type, stop, template }: Pick<JobRow, 'type' | 'stop' | 'template'>,
  { live, openEvaluations }: { readonly live: boolean; readonly openEvaluations: boolean },
): JobRow['status'] {
  if (live) return 'running'
  // It waits for nodes, or for its time, until it is stopped.
  if (!stop && (type === 'system' || template)) return 'running'
  return openEvaluations ? 'pending' : 'dead'
}

/** The row after an entry that changed allocations or evaluations of the job; the same row where nothing of it moved. */
export function withWork(
  before: JobRow,
  work: {
    readonly counts: readonly CountChange[]
    /** Of an evaluation that ended; null: none did. */
    readonly queued: readonly (readonly [group: string, count: number])[] | null
    /** After the entry. */
    readonly openEvaluations: boolean
  },
  index: number,
): JobRow {
  const counted = withCounts(before, work.counts)
  const row = work.queued === null ? counted : withQueued(counted, work.queued)
  const status = statusOf(row, { live: hasLive(row), openEvaluations: work.openEvaluations })
  if (status === before.status && sameCounts(before.groups, row.groups)) return before
  return { ...row, status, modifyIndex: index }
}

/** A job before and after an entry; null: there is none. */
export type Moved = { readonly before: JobRow | null; readonly after: JobRow | null }

/** A template after an entry that changed jobs that it started; the same row where their counts stay. */
export function withChildren(parent: JobRow, moved: readonly Moved[], index: number): JobRow {
  const counts = { ...(parent.children ?? noChildren) }
  for (const { before, after } of moved) {
    if (before?.status === after?.status) continue
    if (before !== null) counts[before.status] = Math.max(0, counts[before.status] - 1)
    if (after !== null) counts[after.status] += 1
  }
  const { pending, running, dead } = parent.children ?? noChildren
  const isSame = counts.pending === pending && counts.running === running && counts.dead === dead
  return isSame ? parent : { ...parent, children: counts, modifyIndex: index }
}

export const noChildren: ChildCounts = { pending: 0, running: 0, dead: 0 }

function sameCounts(before: readonly GroupCounts[], after: readonly GroupCounts[]): boolean {
  if (before === after) return true
  return (
    before.length === after.length &&
    after.every((counts, at) => {
      const other = before[at]
      return (
        other !== undefined &&
        counts.queued === other.queued &&
        counts.starting === other.starting &&
        counts.running === other.running &&
        counts.complete === other.complete &&
        counts.failed === other.failed &&
        counts.lost === other.lost &&
        counts.unknown === other.unknown
      )
    })
  )
}

function isLive({ starting, running, unknown }: GroupCounts): boolean {
  return starting > 0 || running > 0 || unknown > 0
}

function noCounts(group: string): { -readonly [Key in keyof GroupCounts]: GroupCounts[Key] } {
  return {
    group,
    queued: 0,
    starting: 0,
    running: 0,
    complete: 0,
    failed: 0,
    lost: 0,
    unknown: 0,
  }
}
