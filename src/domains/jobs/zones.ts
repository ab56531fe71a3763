/** Time zones and schedules as this machine knows them. */
import { nextOfSchedules } from '../../lib/schedule.ts'
import { timeZoneOf } from '../../lib/time-zone.ts'
import type { JobSpec } from './model.ts'
import { schedulesOf, type Periodic } from './rules-model.ts'

export function knowsTimeZone(name: string): boolean {
  return timeZoneOf(name) !== null
}

/** When a job is started next, after that moment; null: never. */
export function nextLaunchMs(periodic: Periodic, afterMs: number): number | null {
  if (!periodic.Enabled) return null
  return nextOfSchedules(schedulesOf(periodic), periodic.TimeZone, afterMs)
}

/** Of a valid job. Null: it is started at some time, or not by time at all. */
export function launchWarning({ Periodic }: JobSpec, nowMs: number): string | null {
  if (Periodic === null || !Periodic.Enabled) return null
  return nextLaunchMs(Periodic, nowMs) === null
    ? 'Periodic.Spec names no moment that is still to come: the job would never be started'
    : null
}
