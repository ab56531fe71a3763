/**
 * Which nodes try the newest version of a system job while the others keep an older one. A canary takes the place of what its node ran:
 * no node runs two.
 */
import type { AllocationRow } from '../domains/allocations/model.ts'
import type { TaskGroup } from '../domains/jobs/model.ts'
import { datacenterMatch } from './datacenters.ts'
import { lastOf, mostRun } from './older.ts'
import type { OlderVersion, WantedInput } from './scheduled-job.ts'
import type { ScheduledNode } from './scheduled-node.ts'
import { isOfVersion } from './updates.ts'

/** A node that can run the group, and runs none of it. */
export type Emptied = {
  readonly node: ScheduledNode
  /** What was there last; null: nothing. */
  readonly last: AllocationRow | null
}

export type Candidates = {
  /** Canaries that are there. */
  readonly own: number
  /** Nodes that were emptied for the newest version. */
  readonly due: readonly Emptied[]
  /** Nodes that had a canary of this deployment, and have nothing now. */
  readonly tried: readonly Emptied[]
  /** To be replaced, those that go first in front. */
  readonly outdated: readonly AllocationRow[]
  /** Other nodes that have nothing. */
  readonly others: readonly Emptied[]
}

export type Chosen = {
  readonly wanted: number
  readonly emptied: readonly Emptied[]
  readonly replaced: readonly AllocationRow[]
}

/** `percent` of the nodes, rounded up, as far as there are nodes for them; never none, for then there were nothing to promote. */
export function canariesWanted(
  percent: number,
  total: number,
  { own, due, tried, outdated, others }: Candidates,
): number {
  const most = own + due.length + tried.length + outdated.length + others.length
  return Math.max(1, Math.min(Math.ceil((percent * total) / 100), most))
}

/**
 * `room`: how many may be replaced now. Nodes that have nothing are tried before what runs only where a canary was there already:
 * what else is empty gets the older version.
 */
export function chosenCanaries(
  wanted: number,
  { own, due, tried, outdated, others }: Candidates,
  room: number,
): Chosen {
  const missing = Math.max(0, wanted - own - due.length)
  const again = tried.slice(0, missing)
  const left = missing - again.length
  const replaced = outdated.slice(0, Math.max(0, Math.min(left, room - again.length)))
  const more = others.slice(0, Math.max(0, left - outdated.length))
  return { wanted, emptied: [...due, ...again, ...more], replaced }
}

/** Nodes that had a canary before go first, so one update after the other is tried on the same nodes. */
export function canariesFirst(outdated: readonly AllocationRow[]): readonly AllocationRow[] {
  return outdated.toSorted((left, right) => rankOf(left) - rankOf(right))
}

function rankOf({ health, canary }: AllocationRow): number {
  if (health?.healthy !== true) return 0
  return canary === true ? 1 : 2
}

export type OlderEverywhere = OlderVersion & {
  /** Whether the node is in the datacenters of that version. */
  readonly isInReach: (node: ScheduledNode) => boolean
}

/** The one that most of the group runs; where nothing runs, that ran last. Null: it is not known any more, or had no such group. */
export function olderVersionOf(
  { job, specOf }: Pick<WantedInput, 'job' | 'specOf'>,
  { Name }: TaskGroup,
  live: readonly AllocationRow[],
  rows: readonly AllocationRow[],
): OlderEverywhere | null {
  const older = (row: AllocationRow): boolean =>
    row.jobCreateIndex === job.createIndex && !isOfVersion(row, job)
  const row = mostRun(live.filter(older)) ?? lastOf(rows.filter(older))
  const spec = row === null ? null : specOf(row)
  const group = spec?.TaskGroups.find((one) => one.Name === Name)
  if (row === null || spec === null || group === undefined || group.Count === 0) return null
  const matches = datacenterMatch(spec.Datacenters)
  return {
    version: row.jobVersion,
    createIndex: row.jobCreateIndex,
    // Nodes are looked at with the constraints of the newest job, and these.
    group: { ...group, Constraints: [...spec.Constraints, ...group.Constraints] },
    isInReach: ({ datacenter }) => matches(datacenter),
  }
}
