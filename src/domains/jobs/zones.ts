/** Time zones and schedules as this machine knows them. */
import { nextFireMs, parseCron } from '../../lib/cron.ts'
import { TimeZone } from '../../lib/time-zone.ts'
import type { JobSpec } from './model.ts'

export function knowsTimeZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** Of a valid job. Null: it is started at some time, or not by time at all. */
export function launchWarning({ Periodic }: JobSpec, nowMs: number): string | null {
  if (Periodic === null || !Periodic.Enabled || !knowsTimeZone(Periodic.TimeZone)) return null
  const cron = parseCron(Periodic.Spec)
  if (typeof cron === 'string') return null
  return nextFireMs(cron, nowMs, new TimeZone(Periodic.TimeZone)) === null
    ? 'Periodic.Spec names no moment that is still to come: the job would never be started'
    : null
}
