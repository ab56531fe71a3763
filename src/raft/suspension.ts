/**
 * Notices that this machine was suspended: the monotonic clock stood still then, and leases that were judged by it are
 * void. The wall clock went on, and so did the time since boot. The first is cheap enough to be asked for every read, but
 * it may be set; the second is asked with each heartbeat.
 */
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { RaftCore } from './core/core.ts'

/** Clocks that differ by less may have been read at different moments; a lease leaves more than that unused. */
const jumpMs = 30

export type SuspensionOptions = {
  readonly clock: Clock
  /** Milliseconds since the machine was started, with the time it was suspended. */
  readonly bootMs: () => number
  readonly logger: Logger
}

type Leased = Pick<RaftCore, 'role' | 'suspended'>

export class Suspension {
  readonly #options: SuspensionOptions
  #wallAheadMs: number
  #bootAheadMs: number

  constructor(options: SuspensionOptions) {
    this.#options = options
    const now = options.clock.monotonicMs()
    this.#wallAheadMs = options.clock.wallMs() - now
    this.#bootAheadMs = options.bootMs() - now
  }

  /** Voids the lease if the wall clock jumped ahead since this was asked last. It may have been set: then for nothing. */
  beforeRead<Core extends Leased>(core: Core): Core {
    const { clock } = this.#options
    const aheadMs = clock.wallMs() - clock.monotonicMs()
    if (aheadMs - this.#wallAheadMs > jumpMs) {
      this.#wallAheadMs = aheadMs
      this.#void(core)
    } else if (aheadMs < this.#wallAheadMs) {
      this.#wallAheadMs = aheadMs
    }
    return core
  }

  /** The same by the time since boot. Slow ways of the wall clock are followed here, so that they do not add up. */
  onTimer(core: Leased): void {
    if (core.role !== 'leader') return
    const { clock, bootMs } = this.#options
    const now = clock.monotonicMs()
    const aheadMs = bootMs() - now
    const jumped = aheadMs - this.#bootAheadMs > jumpMs
    if (jumped || aheadMs < this.#bootAheadMs) this.#bootAheadMs = aheadMs
    if (jumped) this.#void(core)
    this.beforeRead(core)
    this.#wallAheadMs = clock.wallMs() - now
  }

  #void(core: Leased): void {
    this.#options.logger.info('this machine was suspended, or its clock was set')
    core.suspended(this.#options.clock.monotonicMs())
  }
}
