/** The drivers of this agent. One that is not enabled starts nothing; what it started before goes on and is ended by it. */
import type { NodeSpec } from '../../domains/nodes/model.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Driver, DriverHealth } from './driver.ts'
import { MockDriver } from './mock-driver.ts'
import type { DriverName } from './names.ts'
import { RawExecDriver } from './raw-exec.ts'

export class Drivers {
  readonly #drivers: readonly Driver[]
  readonly #enabled: readonly string[]
  readonly #sinceMs: number

  /** `more`: those that had to look at the machine first. */
  constructor(enabled: readonly DriverName[], clock: Clock, more: readonly Driver[] = []) {
    this.#drivers = [new MockDriver(clock), new RawExecDriver(clock), ...more]
    this.#enabled = enabled
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

  /** As servers are told. */
  get shown(): NodeSpec['drivers'] {
    const enabled = this.#drivers.filter(({ name }) => this.#enabled.includes(name))
    return enabled.map(({ name, health = healthy(name) }) => ({
      name,
      attributes: health.attributes.map(([key, value]) => [key, value]),
      detected: true,
      healthy: health.isHealthy,
      healthDescription: health.description,
      updateTimeMs: this.#sinceMs,
    }))
  }
}

function healthy(name: string): DriverHealth {
  return { isHealthy: true, description: 'Healthy', attributes: [[`driver.${name}`, '1']] }
}
