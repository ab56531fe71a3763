/**
 * When a check restarts its task: after so many looks in a row that found it unhealthy. Pure; `allocation-services.ts` says what was
 * seen, and when.
 */
import type { CheckStatus } from '../../domains/catalog/model.ts'
import type { CheckRestart } from '../../domains/jobs/network-model.ts'
import { nsPerMs } from '../../lib/duration.ts'

export type RestartRules = {
  /** At least 1. */
  readonly limit: number
  readonly graceMs: number
  readonly ignoresWarnings: boolean
}

/** Looks in a row that found it unhealthy, all in one run of its task. */
export type UnhealthyLooks = { readonly sinceMs: number; readonly count: number }

/** By a clock that nobody sets. */
export type Seen = {
  readonly status: CheckStatus
  readonly nowMs: number
  /** The last start of the tasks that it restarts; null: one of them is not up. */
  readonly upSinceMs: number | null
}

/** Null: no check restarts anything by it. */
export function restartRulesOf(block: CheckRestart | null): RestartRules | null {
  if (block === null || block.Limit <= 0) return null
  const { Limit, Grace, IgnoreWarnings } = block
  return { limit: Limit, graceMs: Grace / nsPerMs, ignoresWarnings: IgnoreWarnings }
}

/** `before`: what it returned for the look before; null: nothing counts yet. */
export function afterLook(
  before: UnhealthyLooks | null,
  { limit, graceMs, ignoresWarnings }: RestartRules,
  { status, nowMs, upSinceMs }: Seen,
): { readonly looks: UnhealthyLooks | null; readonly restarts: boolean } {
  const isHealthy = status === 'passing' || (status === 'warning' && ignoresWarnings)
  if (isHealthy || upSinceMs === null || nowMs < upSinceMs + graceMs) {
    return { looks: null, restarts: false }
  }
  // A run of the task before this one has no part in it.
  const known = before?.sinceMs === upSinceMs ? before.count : 0
  const count = known + 1
  if (count >= limit) return { looks: null, restarts: true }
  return { looks: { sinceMs: upSinceMs, count }, restarts: false }
}
