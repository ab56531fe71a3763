/** The services of one allocation with this agent: those that its tasks offer now are registered, and no others. */
import type { Assigned } from '../../domains/allocations/feed-model.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Variables } from './environment.ts'
import type { Registrations } from './registrations.ts'
import { taskServices, type TaskService } from './task-services.ts'

export type AllocationServicesOptions = {
  readonly registrations: Registrations
  readonly log: Logger
  /** Where the machine is reached. */
  readonly address: string
  readonly assigned: () => Assigned
  /** Whether the task runs, and is not about to end. */
  readonly isUp: (task: string) => boolean
  readonly variablesOf: (task: string) => Variables
}

export class AllocationServices {
  readonly #options: AllocationServicesOptions
  #now: readonly TaskService[] = []

  constructor(options: AllocationServicesOptions) {
    this.#options = options
  }

  /** A task may have come up, or go. */
  look(): void {
    const { registrations, assigned } = this.#options
    this.#now = this.#offered()
    registrations.keep(assigned().id, this.#now)
  }

  get haveChecks(): boolean {
    return this.#now.some(({ checks }) => checks.length > 0)
  }

  get arePassing(): boolean {
    return this.#options.registrations.isPassing(this.#now)
  }

  #offered(): readonly TaskService[] {
    const { address, isUp, variablesOf, log } = this.#options
    const assigned = this.#options.assigned()
    const { group, id } = assigned
    if (![group, ...group.Tasks].some(({ Services }) => Services.length > 0)) return []
    try {
      return taskServices({ assigned, address, isUp, variablesOf })
    } catch (error) {
      log.warn('services of an allocation cannot be registered', {
        allocation: id,
        error: textOf(error),
      })
      return []
    }
  }
}
