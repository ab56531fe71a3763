/** Time zones and schedules as this machine knows them. */
import { nextFireMs, parseCron } from '../../lib/cron.ts'
import { timeZoneOf } from '../../lib/time-zone.ts'
import type { JobSpec } from './model.ts'

export function knowsTimeZone(name: string): boolean {
  return timeZoneOf(name) !== null
}

/** Of a valid job. Null: it is started at some time, or not by time at all. */
export function launchWarning({ Periodic }: JobSpec, nowMs: number): string | null {
  if (Periodic === null || !Periodic.Enabled) return null
  const [cron, zone] = [parseCron(Periodic.Spec), timeZoneOf(Periodic.TimeZone)]
  if (typeof cron === 'string' || zone === null) return null
  return nextFireMs(cron, nowMs, zone) === null
    ? 'Periodic.Spec names no moment that is still to come: the job would never be started'
    : null
}
