/** What a decision starts from and leads to, of a job: its newest version, allocations that stop, and places that are to be filled. */
import { isClientTerminal, isTerminal, type AllocationRow } from '../domains/allocations/model.ts'
import { lostDescription } from '../domains/allocations/window-model.ts'
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import type { Whereabouts } from './whereabouts.ts'

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
  lost: lostDescription,
  rescheduled: 'alloc was rescheduled because it failed',
  reconnected: 'alloc not needed due to disconnected client reconnect',
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
  /** It stands beside the others until it is promoted. */
  readonly isCanary: boolean
  /** It is of an older version still: the newest one only tries canaries. Null: of the newest. */
  readonly older: OlderVersion | null
}

export type OlderVersion = {
  readonly version: number
  readonly createIndex: number
  readonly group: TaskGroup
}

/** The first of its name, unless more is said. */
export function slot(name: string, more: Partial<Omit<Slot, 'name'>> = {}): Slot {
  const nothing = { previous: null, stop: null, rescheduledAfterMs: null, older: null }
  return { name, ...nothing, isCanary: false, ...more }
}

/** `followupEval`: what it says already. */
export type Awaiting = Pick<AllocationRow, 'id' | 'followupEval'> & { readonly atMs: number }

export type GroupPlan = {
  readonly group: TaskGroup
  /** Live ones that stay. */
  readonly keep: readonly AllocationRow[]
  /** Of those, the ones that become of the newest version. */
  readonly inPlace: readonly AllocationRow[]
  readonly slots: readonly Slot[]
  /** That are cut off and may come back, and are not known as such yet. */
  readonly unknown: readonly AllocationRow[]
  /** That are looked at again, and when. */
  readonly awaiting: readonly Awaiting[]
  /** When the first of those that are cut off is lost; null: none is. */
  readonly cutOffUntilMs: number | null
}

type WhereIs = (row: AllocationRow) => Whereabouts

export type ReconcileInput = {
  /** Null: there is none any more. */
  readonly job: ScheduledJob | null
  readonly allocations: readonly AllocationRow[]
  /** Of the version that it runs; null: it is not known any more. */
  readonly specOf: (row: AllocationRow) => JobSpec | null
  readonly whereIs: WhereIs
  /** It was marked to move once the time was over that a drain of its node gives work to end. */
  readonly isForced: (row: AllocationRow) => boolean
  /** Whether the group may still run on the node of the allocation. */
  readonly isFeasible: (row: AllocationRow, group: TaskGroup) => boolean
  readonly nowMs: number
  /** What a job that is over still has ends without the delays of its tasks. */
  readonly skipsDelay: boolean
}

/** The job is there, and is to run. */
export type WantedInput = ReconcileInput & { readonly job: ScheduledJob }

/** The first steps of any job: what it has of groups that it does not want goes, and each group is looked at by itself. */
export function byGroup<Plan extends { readonly stop: readonly Stop[] }>(
  { job, allocations, whereIs, skipsDelay }: ReconcileInput,
  ofGroup: (job: ScheduledJob, group: TaskGroup, rows: readonly AllocationRow[]) => Plan,
): { readonly groups: readonly Plan[]; readonly stop: readonly Stop[] } {
  // What was told to end and is lost before it did: nobody else will say what became of it.
  const never = allocations.filter(
    (row) => row.desiredStatus !== 'run' && !isClientTerminal(row) && whereIs(row).type === 'lost',
  )
  const gone = never.map((row) => ({ row, reason: row.desiredDescription, lost: true }))
  if (job === null || job.stop) {
    const ending = allocations.filter((row) => mayWait(row) && whereIs(row).type !== 'lost')
    const hurried = (skipsDelay ? ending : []).map((row) => ({
      row,
      reason: row.desiredDescription,
      lost: false,
    }))
    const stop = [...gone, ...hurried, ...stopAll(allocations, whereIs, reasons.jobStopped)]
    return { groups: [], stop }
  }
  const rows = Map.groupBy(allocations, ({ group }) => group)
  const groups = job.spec.TaskGroups.map((group) => ofGroup(job, group, rows.get(group.Name) ?? []))
  const named = new Set(job.spec.TaskGroups.map(({ Name }) => Name))
  const others = allocations.filter(({ group }) => !named.has(group))
  const unwanted = stopAll(others, whereIs, reasons.notNeeded)
  return { groups, stop: [...gone, ...unwanted, ...groups.flatMap(({ stop }) => stop)] }
}

/** It was told to end before, and may wait until its delays are over. */
function mayWait(row: AllocationRow): boolean {
  return row.desiredStatus === 'stop' && !isClientTerminal(row) && row.skipsDelay !== true
}

/** All that are wanted to run and have not ended. */
export function stopAll(
  rows: readonly AllocationRow[],
  whereIs: WhereIs,
  reason: string,
): readonly Stop[] {
  return rows.flatMap((row) => {
    if (isTerminal(row)) return []
    return [whereIs(row).type === 'lost' ? lostStop(row) : { row, reason, lost: false }]
  })
}

export function lostStop(row: AllocationRow): Stop {
  return { row, reason: reasons.lost, lost: true }
}
