/**
 * The services of one allocation with this agent: those that its tasks offer now are registered, and no others. What is found of
 * their checks comes back to here, and may restart a task.
 */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import type { CheckStatus } from '../../domains/catalog/model.ts'
import type { ProbeResult } from '../../domains/local-services/probes/probe-result.ts'
import type { TaskChecks } from '../../domains/local-services/task-checks.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/log.ts'
import type { RunningCommand } from '../drivers/exec-process.ts'
import type { CheckHolders } from './check-holders.ts'
import { afterLook, type UnhealthyLooks } from './check-restart.ts'
import type { Variables } from './environment.ts'
import type { Registrations } from './registrations.ts'
import { ScriptCheck } from './script-check.ts'
import { checkUnhealthy, serviceRefused, type EventSeed } from './task-events.ts'
import {
  taskServices,
  type OfferedServices,
  type RefusedService,
  type TaskCheck,
  type TaskService,
} from './task-services.ts'

export type AllocationServicesOptions = {
  readonly registrations: Registrations
  readonly holders: CheckHolders
  readonly clock: Clock
  readonly log: Logger
  /** Where the machine is reached. */
  readonly address: string
  readonly assigned: () => Assigned
  /** The start of a task that runs, and is not about to end, by the monotonic clock; null: it does not. */
  readonly upSinceMs: (task: string) => number | null
  readonly variablesOf: (task: string) => Variables
  /** A command beside a task, with variables of its environment. Rejects as drivers do. */
  readonly run: (task: string, words: readonly string[]) => Promise<RunningCommand>
  /** A check says that they do not work. */
  readonly onUnhealthy: (tasks: readonly string[], because: EventSeed) => void
  /** A service of theirs is left out. */
  readonly onRefused: (tasks: readonly string[], event: EventSeed) => void
}

export class AllocationServices implements TaskChecks {
  readonly #options: AllocationServicesOptions
  #services: readonly TaskService[] = []
  /** What was told of those that cannot be registered now, as JSON. */
  #refused: ReadonlySet<string> = new Set()
  /** By their ids. */
  #checks: ReadonlyMap<string, TaskCheck> = new Map()
  readonly #unhealthy = new Map<string, UnhealthyLooks>()
  /** Of all that ever ran, for what was killed with its task may not have ended when that runs once more. */
  readonly #scripts = new Map<string, ScriptCheck>()

  constructor(options: AllocationServicesOptions) {
    this.#options = options
  }

  /** A task may have come up, or go. */
  refresh(): void {
    const { registrations, assigned } = this.#options
    const { services, refused } = this.#offered()
    this.#services = services
    this.#hold(services.flatMap(({ checks }) => checks))
    registrations.keep(assigned().id, services)
    this.#tell(refused)
  }

  /** They stay registered; what is found of their checks comes here no more. */
  release(): void {
    this.#hold([])
  }

  /** That health waits for. */
  get haveChecks(): boolean {
    return this.#services.some(({ checks }) => checks.some(({ needs }) => needs !== 'nothing'))
  }

  /** Nobody knows how one that could not be registered fares. */
  get arePassing(): boolean {
    return this.#refused.size === 0 && this.#options.registrations.isPassing(this.#services)
  }

  async look(id: string, signal: AbortSignal): Promise<ProbeResult | null> {
    const script = this.#checks.get(id)?.script ?? null
    if (script === null) return null
    const { task, words } = script
    const { clock, upSinceMs, run } = this.#options
    const sinceMs = upSinceMs(task)
    if (sinceMs === null) {
      const output = `The task ${JSON.stringify(task)} does not run, and so no command beside it`
      return { status: 'critical', output }
    }
    const runs = this.#scripts.get(id) ?? new ScriptCheck(clock)
    this.#scripts.set(id, runs)
    const found = await runs.run(() => run(task, words), signal)
    // What ended with its task, or was broken off by the end of the agent, says nothing of it.
    return this.#checks.has(id) && upSinceMs(task) === sinceMs ? found : null
  }

  looked(id: string, status: CheckStatus): void {
    const check = this.#checks.get(id)
    if (check === undefined || check.restart === null) return
    const { clock, onUnhealthy } = this.#options
    const { tasks, rules } = check.restart
    const seen = { status, nowMs: clock.monotonicMs(), upSinceMs: this.#upSinceMs(tasks) }
    const { looks, restarts } = afterLook(this.#unhealthy.get(id) ?? null, rules, seen)
    if (looks === null) this.#unhealthy.delete(id)
    else this.#unhealthy.set(id, looks)
    if (restarts) onUnhealthy(tasks, checkUnhealthy(check.definition.name))
  }

  #hold(checks: readonly TaskCheck[]): void {
    const { holders } = this.#options
    const now = new Map(checks.map((check) => [check.definition.id, check]))
    for (const id of this.#checks.keys()) {
      if (now.has(id)) continue
      holders.delete(id)
      this.#unhealthy.delete(id)
    }
    for (const id of now.keys()) holders.set(id, this)
    this.#checks = now
  }

  /** The last of their starts; null: one of them is not up. */
  #upSinceMs(tasks: readonly string[]): number | null {
    let sinceMs = -Infinity
    for (const task of tasks) {
      const ownMs = this.#options.upSinceMs(task)
      if (ownMs === null) return null
      sinceMs = Math.max(sinceMs, ownMs)
    }
    return sinceMs
  }

  #offered(): OfferedServices {
    const { address, upSinceMs, variablesOf } = this.#options
    const assigned = this.#options.assigned()
    const { group } = assigned
    if (![group, ...group.Tasks].some(({ Services }) => Services.length > 0)) {
      return { services: [], refused: [] }
    }
    const isUp = (task: string): boolean => upSinceMs(task) !== null
    return taskServices({ assigned, address, isUp, variablesOf })
  }

  /** Of each once, until it can be registered or its task ends. */
  #tell(refused: readonly RefusedService[]): void {
    const { log, onRefused } = this.#options
    const told = this.#refused
    const now = refused.map((one) => [JSON.stringify(one), one] as const)
    // Before anything is told, for that leads to here again.
    this.#refused = new Set(now.map(([key]) => key))
    for (const [key, { name, tasks, problem }] of now) {
      if (told.has(key)) continue
      const allocation = this.#options.assigned().id
      log.warn('a service of an allocation cannot be registered', { allocation, name, problem })
      onRefused(tasks, serviceRefused(name, problem))
    }
  }
}
