/** What the leader does for sessions: takes renewals, and ends what was not renewed. */
import { Expiry, type ExpiryOptions } from './expiry.ts'

/** Leader only: started on election, stopped when leadership is lost. */
export function startSessionDuties(options: ExpiryOptions): { stop(): Promise<void> } {
  const { renewals, propose } = options
  const expiry = new Expiry(options)
  renewals.open(propose)
  expiry.start()
  return {
    async stop() {
      renewals.close()
      await expiry.stop()
    },
  }
}
