/** The drivers of this agent. One that is not enabled starts nothing; what it started before goes on and is ended by it. */
import type { NodeSpec } from '../../domains/nodes/model.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Driver } from './driver.ts'
import { MockDriver } from './mock-driver.ts'
import type { DriverName } from './names.ts'
import { RawExecDriver } from './raw-exec.ts'

export class Drivers {
  readonly #drivers: readonly Driver[]
  readonly #enabled: readonly string[]
  readonly #sinceMs: number

  constructor(enabled: readonly DriverName[], clock: Clock) {
    this.#drivers = [new MockDriver(clock), new RawExecDriver(clock)]
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
    return this.#enabled.map((name) => ({
      name,
      attributes: [[`driver.${name}`, '1']],
      detected: true,
      healthy: true,
      healthDescription: 'Healthy',
      updateTimeMs: this.#sinceMs,
    }))
  }
}
