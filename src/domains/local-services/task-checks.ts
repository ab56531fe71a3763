/** What the part of an agent that runs tasks does for their checks, which are run and registered here as all others. */
import type { CheckStatus } from '../catalog/model.ts'
import type { ProbeResult } from './probes/probe-result.ts'

export interface TaskChecks {
  /**
   * Looks inside of a task, for a check whose probe is of type `task`. Null: no task that runs has the check, which stays as it is.
   * Never rejects. Soon after `signal` it has ended.
   */
  look(check: string, signal: AbortSignal): Promise<ProbeResult | null>
  /** Of every look of every check. `status`: what the check is now, after its thresholds. */
  looked(check: string, status: CheckStatus): void
}
