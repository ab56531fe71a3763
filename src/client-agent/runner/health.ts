/**
 * Whether an allocation is as healthy as its job's rules want: it runs for long enough without a failure. Pure. Its times are of a
 * clock that nobody sets: see `At`.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { ClientReport } from '../../domains/allocations/model.ts'
import type { AllocationMachine, AllocationPlan } from './allocation.ts'
import { nsPerMs } from '../../lib/duration.ts'

export type HealthRules = {
  readonly minHealthyMs: number
  readonly deadlineMs: number
  /** Of its services: whether they count. */
  readonly byChecks: boolean
}

export type Health = ClientReport['health']

/** Null: nobody asks, or an operator says. */
export function healthRulesOf({ group, migrate }: Assigned): HealthRules | null {
  const rules = migrate ? group.Migrate : (group.Update ?? group.Migrate)
  if (rules === null || rules.HealthCheck === 'manual') return null
  return {
    minHealthyMs: rules.MinHealthyTime / nsPerMs,
    deadlineMs: rules.HealthyDeadline / nsPerMs,
    byChecks: rules.HealthCheck !== 'task_states',
  }
}

export type Times = {
  /** When the agent got it. */
  readonly sinceMs: number
  /** Since when its checks pass, as far as they count; null: they do not. */
  readonly passingMs: number | null
  readonly nowMs: number
  /** The time of day, for what is told. */
  readonly wallMs: number
}

/** `dueMs`: when to look again, if nothing happens before; null: it is decided. */
export function judged(
  machine: AllocationMachine,
  plan: AllocationPlan,
  rules: HealthRules,
  { sinceMs, passingMs, nowMs, wallMs }: Times,
): { readonly health: Health; readonly dueMs: number | null } {
  const timeMs = Math.trunc(wallMs)
  const unhealthy = { health: { healthy: false, timeMs }, dueMs: null }
  if (machine.tasks.some(({ failed }) => failed)) return unhealthy
  const deadlineMs = sinceMs + rules.deadlineMs
  const runningMs = runningSince(machine, plan)
  const goodMs = runningMs === null || passingMs === null ? null : Math.max(runningMs, passingMs)
  const healthyMs = goodMs === null ? Infinity : goodMs + rules.minHealthyMs
  if (nowMs >= healthyMs) return { health: { healthy: true, timeMs }, dueMs: null }
  if (nowMs >= deadlineMs) return unhealthy
  return { health: null, dueMs: Math.min(healthyMs, deadlineMs) }
}

/** The last start of those that have to run, and null while one of them does not. */
function runningSince({ tasks }: AllocationMachine, plan: AllocationPlan): number | null {
  // What an earlier process of the agent started may be from before zero.
  let sinceMs = -Infinity
  for (const [at, task] of tasks.entries()) {
    const { turn, isSidecar } = plan[at] ?? { turn: 'main', isSidecar: false }
    if (turn === 'poststop') continue
    const { phase, upMs } = task
    if (turn !== 'main' && !isSidecar) {
      if (phase.type !== 'dead') return null
      continue
    }
    if (phase.type !== 'running' || upMs === undefined) return null
    sinceMs = Math.max(sinceMs, upMs)
  }
  return sinceMs
}
