/** Keeps the services of tasks registered with this agent, which tells the catalog: what runs has its services, what ends loses them first. */
import type { CheckStatus } from '../../domains/catalog/model.ts'
import type { InitialCheck } from '../../domains/local-services/definitions.ts'
import type { LocalServices } from '../../domains/local-services/local-services.ts'
import { codeOf, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { taskServicePrefix, type TaskService } from './task-services.ts'

export type Registry = Pick<
  LocalServices,
  'services' | 'registerService' | 'deregisterService' | 'check'
>

export class Registrations {
  readonly #registryOf: () => Registry
  readonly #log: Logger
  /** By allocation: as JSON, by the service's id. */
  readonly #held = new Map<string, ReadonlyMap<string, string>>()
  readonly #turns = new Map<string, Promise<void>>()

  constructor(registry: () => Registry, log: Logger) {
    this.#registryOf = registry
    this.#log = log
  }

  get #registry(): Registry {
    return this.#registryOf()
  }

  /** What an earlier process of the agent registered for allocations that are none any more goes. */
  sweep(live: readonly string[]): void {
    for (const { id } of this.#registry.services()) {
      if (!id.startsWith(taskServicePrefix)) continue
      const isLive = live.some((allocation) => id.startsWith(taskServicePrefix + allocation))
      if (!isLive) this.#later(id, () => this.#remove(id))
    }
  }

  /** From now on the allocation has these, and no others. */
  keep(allocation: string, services: readonly TaskService[]): void {
    const before = this.#held.get(allocation) ?? new Map<string, string>()
    const after = new Map(services.map((one) => [one.service.id, JSON.stringify(one)]))
    if (after.size === 0) this.#held.delete(allocation)
    else this.#held.set(allocation, after)
    for (const id of before.keys()) {
      if (!after.has(id)) this.#later(allocation, () => this.#remove(id))
    }
    for (const { service, checks } of services) {
      if (before.get(service.id) === after.get(service.id)) continue
      this.#later(allocation, () => {
        const given = checks.map((check) => this.#asItWas(check))
        return this.#registry.registerService(service, given, true)
      })
    }
  }

  /** Whether all checks of the allocation's services that its health needs are as it needs them. */
  isPassing(services: readonly TaskService[]): boolean {
    return services.every(({ checks }) =>
      checks.every(({ definition, needs }) => {
        if (needs === 'nothing') return true
        const status: CheckStatus | undefined = this.#registry.check(definition.id)?.state.status
        return status === 'passing' || (status === 'warning' && needs === 'noFailure')
      }),
    )
  }

  /** What an earlier process of the agent found out of a check of a task that runs on still stands. */
  #asItWas({ definition, status }: InitialCheck): InitialCheck {
    const isKnown = this.#registry.check(definition.id) !== null
    return { definition, status: isKnown ? null : status }
  }

  /** One change of an allocation at a time, in order. */
  #later(key: string, change: () => Promise<void>): void {
    const turn = (this.#turns.get(key) ?? Promise.resolve()).then(change).catch((error) => {
      this.#log.warn('a service of a task is not registered as it is', {
        of: key,
        error: textOf(error),
      })
    })
    this.#turns.set(key, turn)
    void turn.then(() => {
      if (this.#turns.get(key) === turn) this.#turns.delete(key)
    })
  }

  async #remove(id: string): Promise<void> {
    await this.#registry.deregisterService(id).catch((error: unknown) => {
      if (codeOf(error) !== 'not_found') throw error
    })
  }
}
