/**
 * The drivers of this agent. One that is not enabled starts nothing; what it started before goes on and is ended by it.
 *
 * One that depends on another program is looked at from time to time, and the servers are told when that comes or goes.
 */
import type { NodeSpec } from '../../domains/nodes/model.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/log.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { Driver, DriverCondition } from './driver.ts'
import { MockDriver } from './mock-driver.ts'
import type { DriverName } from './names.ts'
import { RawExecDriver } from './raw-exec.ts'

const lookMs = { well: 15_000, unwell: 5_000 } as const
const sweepMs = { first: 60_000, every: 5 * 60_000 } as const
const descriptionLengthMax = 256

const always: DriverCondition = {
  detected: true,
  healthy: true,
  description: 'Healthy',
  attributes: [],
}

export type DriversWatch = {
  readonly log: Logger
  /** Another condition than before. */
  readonly onChange: () => void
  /** Whether the allocation may still run something here. */
  readonly isWanted: (allocation: string) => boolean
}

export class Drivers {
  readonly #drivers: readonly Driver[]
  readonly #enabled: readonly string[]
  readonly #clock: Clock
  readonly #sinceMs: number
  readonly #conditions = new Map<string, DriverCondition & { readonly sinceMs: number }>()

  /** `more`: those that need more than a clock. */
  constructor(enabled: readonly DriverName[], clock: Clock, more: readonly Driver[] = []) {
    this.#drivers = [new MockDriver(clock), new RawExecDriver(clock), ...more]
    this.#enabled = enabled
    this.#clock = clock
    this.#sinceMs = Math.trunc(clock.wallMs())
  }

  /** Null: there is none of that name. */
  known(name: string): Driver | null {
    return this.#drivers.find((driver) => driver.name === name) ?? null
  }

  /** Null: there is none of that name, or it is not enabled. */
  enabled(name: string): Driver | null {
    return this.#enabled.includes(name) ? this.known(name) : null
  }

  /** Asks those that depend on others how they are. True: one is not as it was. */
  async look(): Promise<boolean> {
    let isOther = false
    for (const driver of this.#live()) {
      const found = await driver.condition?.()
      if (found === undefined) continue
      const before = this.#conditions.get(driver.name)
      const condition = { ...found, description: found.description.slice(0, descriptionLengthMax) }
      const { sinceMs = 0, ...known } = before ?? {}
      if (JSON.stringify(known) === JSON.stringify(condition)) continue
      const isSince = before?.healthy === condition.healthy
      const nowMs = Math.trunc(this.#clock.wallMs())
      this.#conditions.set(driver.name, { ...condition, sinceMs: isSince ? sinceMs : nowMs })
      isOther = true
    }
    return isOther
  }

  /** Looks again and again, and has them end what nobody wants, until it is stopped. Costs nothing where none needs it. */
  watch({ log, onChange, isWanted }: DriversWatch): Running {
    const { length } = this.#live()
    if (length === 0) return { stop: () => Promise.resolve() }
    const looks = periodic({
      clock: this.#clock,
      log,
      failure: 'a driver was not looked at',
      firstMs: lookMs.well,
      everyMs: lookMs.well,
      retryMs: lookMs.well,
      round: async () => {
        if (await this.look()) onChange()
        const isWell = this.#live().every(({ name }) => this.#conditions.get(name)?.healthy)
        return isWell ? lookMs.well : lookMs.unwell
      },
    })
    const sweeps = periodic({
      clock: this.#clock,
      log,
      failure: 'what a driver left running was not looked for',
      firstMs: sweepMs.first,
      everyMs: sweepMs.every,
      retryMs: sweepMs.every,
      round: async () => {
        for (const driver of this.#live()) {
          if (this.#conditions.get(driver.name)?.healthy === true) await driver.sweep?.(isWanted)
        }
      },
    })
    return {
      stop: async () => {
        await Promise.all([looks.stop(), sweeps.stop()])
      },
    }
  }

  /** As servers are told. */
  get shown(): NodeSpec['drivers'] {
    return this.#enabled.map((name) => {
      const lasting = this.known(name)?.health ?? always
      const condition = this.#conditions.get(name) ?? { ...lasting, sinceMs: this.#sinceMs }
      const { detected, healthy, description, attributes, sinceMs } = condition
      const found = healthy ? [[`driver.${name}`, '1'] as const, ...attributes] : []
      return {
        name,
        attributes: found.map(([key, value]) => [key, value]),
        detected,
        healthy,
        healthDescription: description,
        updateTimeMs: sinceMs,
      }
    })
  }

  /** Those of which it is asked how they are. */
  #live(): readonly Driver[] {
    return this.#drivers.filter(
      ({ name, condition }) => condition !== undefined && this.#enabled.includes(name),
    )
  }
}
