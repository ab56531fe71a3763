/** Several cron expressions in one time zone. */
import { nextFireMs, parseCron, type Cron } from './cron.ts'
import { timeZoneOf } from './time-zone.ts'

/** The first moment after `afterMs` that one of them names; null: there is none, or they cannot be read here. */
export function nextOfSchedules(
  specs: readonly string[],
  zoneName: string,
  afterMs: number,
): number | null {
  const zone = timeZoneOf(zoneName)
  if (zone === null) return null
  const next = specs
    .map((spec) => parseCron(spec))
    .filter((cron): cron is Cron => typeof cron !== 'string')
    .map((cron) => nextFireMs(cron, afterMs, zone))
    .filter((ms) => ms !== null)
  return next.length === 0 ? null : Math.min(...next)
}
