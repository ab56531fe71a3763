/** What is left to wait for a change, for a request that is asked a second time. */
import { formatDurationMs, parseDurationMs } from '../lib/duration.ts'

/** The shortest there is: the answer comes at once, as it stands. */
const waitMsMin = 1

/** `url`: path and query string. Clients give up a little after their `wait`: `passedMs` of it are over. */
export function withWaitLeft(url: string, passedMs: number): string {
  return url.replace(/([?&]wait=)([^&]+)/, (whole: string, name: string, value: string) => {
    const waitMs = parseDurationMs(value)
    if (waitMs === undefined || waitMs <= 0) return whole
    return name + formatDurationMs(Math.max(waitMsMin, Math.floor(waitMs - passedMs)))
  })
}
