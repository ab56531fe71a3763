/**
 * Which version fills what is missing of a group while the newest one does not: its canaries wait, or its deployment is paused or has
 * failed.
 */
import type { AllocationRow } from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import type { HeldInput } from './held.ts'
import { lastOf, mostRun } from './older.ts'
import type { OlderVersion } from './scheduled-job.ts'
import { isHealthy, isOfVersion, type ByVersion } from './updates.ts'

export type Serving = {
  /** Null: the newest one serves all the same. */
  readonly older: OlderVersion | null
  /** As many as that version is to have, and no more than the newest one wants. */
  readonly count: number
}

export const nothingServes: Serving = { older: null, count: 0 }

/** `rows`: all of the group but its canaries. */
export function servingVersion(
  input: HeldInput,
  group: TaskGroup,
  rows: readonly AllocationRow[],
  { current, inPlace, outdated }: ByVersion,
  isCanarying: boolean,
): Serving {
  const { job, rollout } = input
  const newest: Serving = { older: null, count: group.Count }
  // What failed with its deployment does not serve, unless it became healthy before.
  const serves = (row: AllocationRow): boolean =>
    isOfVersion(row, job)
      ? !isCanarying && (isHealthy(row) || !rollout.isGivenUp(row))
      : row.jobCreateIndex === job.createIndex
  const most = mostRun(outdated.filter(serves))
  if (most === null && (inPlace.length > 0 || current.some(serves))) return newest
  const row = most ?? lastOf(rows.filter(serves))
  // A group that is none of the deployment did not fail with it.
  if (row === null) return rollout.stateOf(group) === null && !isCanarying ? newest : nothingServes
  if (isOfVersion(row, job)) return newest
  const older = olderVersion(input, group, row)
  if (older === null) return nothingServes
  return { older, count: Math.min(group.Count, older.group.Count) }
}

/** Null: its version is not known any more, or has no such group. */
export function olderVersion(
  { job, specOf }: Pick<HeldInput, 'job' | 'specOf'>,
  { Name }: TaskGroup,
  row: AllocationRow,
): OlderVersion | null {
  if (isOfVersion(row, job) || row.jobCreateIndex !== job.createIndex) return null
  const group = specOf(row)?.TaskGroups.find((one) => one.Name === Name)
  if (group === undefined) return null
  return { version: row.jobVersion, createIndex: row.jobCreateIndex, group }
}
