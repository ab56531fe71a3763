/** Live allocations of a group by version: of the newest one, become of it in place, or to be replaced, and how many of those at a time. */
import type { AllocationRow } from '../domains/allocations/model.ts'
import type { JobSpec, TaskGroup } from '../domains/jobs/model.ts'
import { groupChange, type GroupChange } from './group-change.ts'
import type { ScheduledJob, WantedInput } from './scheduled-job.ts'

type Input = Pick<WantedInput, 'job' | 'specOf' | 'isFeasible'>

export type ByVersion = {
  readonly current: readonly AllocationRow[]
  /** Of older versions, and may become of the newest one as they are. */
  readonly inPlace: readonly AllocationRow[]
  /** The others, those that are not healthy first. */
  readonly outdated: readonly AllocationRow[]
}

export function byVersion(
  input: Input,
  group: TaskGroup,
  live: readonly AllocationRow[],
): ByVersion {
  const isInPlace = changeTo(input, group)
  const current: AllocationRow[] = []
  const inPlace: AllocationRow[] = []
  const outdated: AllocationRow[] = []
  for (const row of live) {
    if (isOfVersion(row, input.job)) current.push(row)
    else (isInPlace(row) ? inPlace : outdated).push(row)
  }
  outdated.sort((left, right) => Number(isHealthy(left)) - Number(isHealthy(right)))
  return { current, inPlace, outdated }
}

/**
 * How many more may be replaced while those of the newest version are not all healthy yet. `coming`: that are about to be placed. While one of
 * them is unhealthy, none is.
 */
export function room(group: TaskGroup, current: readonly AllocationRow[], coming = 0): number {
  const parallelMax = group.Update?.MaxParallel ?? 0
  if (parallelMax <= 0) return Infinity
  if (current.some(({ health }) => health?.healthy === false)) return 0
  const notYet = current.filter((row) => !isHealthy(row)).length
  return Math.max(0, parallelMax - notYet - coming)
}

/** Of an allocation, or of a deployment. */
export function isOfVersion(
  row: Pick<AllocationRow, 'jobVersion' | 'jobCreateIndex'>,
  job: ScheduledJob,
): boolean {
  return row.jobVersion === job.version && row.jobCreateIndex === job.createIndex
}

export function isHealthy({ health }: AllocationRow): boolean {
  return health?.healthy === true
}

/** Whether an allocation of another version becomes of the newest in place. */
function changeTo(
  { specOf, isFeasible, job }: Input,
  group: TaskGroup,
): (row: AllocationRow) => boolean {
  const changes = new Map<number, GroupChange>()
  return (row) => {
    // Of a job of the same name that was purged: it becomes none of this one.
    if (row.jobCreateIndex !== job.createIndex) return false
    const change = changes.get(row.jobVersion) ?? between(specOf(row), row.group, job.spec, group)
    changes.set(row.jobVersion, change)
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
