/** What a decision means for each group, counted: as a dry run shows it. Also what finds no place counts. */
import type { Placed } from './decision.ts'
import { reasons, type GroupPlan, type Slot, type Stop } from './scheduled-job.ts'

export type DesiredUpdates = {
  ignore: number
  place: number
  migrate: number
  stop: number
  inPlace: number
  destructive: number
  canary: number
  preemptions: number
}

type Planned = Pick<GroupPlan, 'group' | 'keep' | 'inPlace'> & {
  readonly slots: readonly Pick<Slot, 'previous' | 'stop' | 'isCanary'>[]
}

/** Of these another allocation takes the place. */
const replaced: ReadonlySet<string> = new Set([reasons.migrated, reasons.rescheduled])

export function desiredUpdates(
  groups: readonly Planned[],
  stops: readonly Stop[],
  placed: readonly Placed[],
): ReadonlyMap<string, DesiredUpdates> {
  const desired = new Map<string, DesiredUpdates>()
  const of = (group: string): DesiredUpdates => {
    const counts = desired.get(group) ?? none()
    desired.set(group, counts)
    return counts
  }
  for (const { group, keep, inPlace, slots } of groups) {
    const counts = of(group.Name)
    counts.ignore = keep.length - inPlace.length
    counts.inPlace = inPlace.length
    for (const { previous, stop, isCanary } of slots) {
      if (isCanary) counts.canary += 1
      else if (stop !== null) counts.destructive += 1
      else if (previous?.migrate === true) counts.migrate += 1
      else counts.place += 1
    }
  }
  for (const { row, reason } of stops) {
    if (row.desiredStatus === 'run' && !replaced.has(reason)) of(row.group).stop += 1
  }
  for (const { allocation } of placed) {
    of(allocation.group).preemptions += allocation.preempts?.length ?? 0
  }
  return desired
}

function none(): DesiredUpdates {
  return {
    ignore: 0,
    place: 0,
    migrate: 0,
    stop: 0,
    inPlace: 0,
    destructive: 0,
    canary: 0,
    preemptions: 0,
  }
}
