/** Which allocation has a check. The agent runs the checks of tasks among all others, and what it finds gets to them by this. */
import type { CheckStatus } from '../../domains/catalog/model.ts'
import type { ProbeResult } from '../../domains/local-services/probes/probe-result.ts'
import type { TaskChecks } from '../../domains/local-services/task-checks.ts'

export class CheckHolders implements TaskChecks {
  readonly #holders = new Map<string, TaskChecks>()

  set(check: string, holder: TaskChecks): void {
    this.#holders.set(check, holder)
  }

  delete(check: string): void {
    this.#holders.delete(check)
  }

  look(check: string, signal: AbortSignal): Promise<ProbeResult | null> {
    return this.#holders.get(check)?.look(check, signal) ?? Promise.resolve(null)
  }

  looked(check: string, status: CheckStatus): void {
    this.#holders.get(check)?.looked(check, status)
  }
}
