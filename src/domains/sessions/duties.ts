/** What the leader does for sessions: takes renewals, and ends what was not renewed. */
import type { Running } from '../../lib/periodic.ts'
import { Expiry, type ExpiryOptions } from './expiry.ts'

/** Leader only: started on election, stopped when leadership is lost. */
export function startSessionDuties(options: ExpiryOptions): Running {
  const { renewals, propose } = options
  renewals.open(propose)
  const expiry = new Expiry(options)
  return {
    stop() {
      renewals.close()
      return expiry.stop()
    },
  }
}
