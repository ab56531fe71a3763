/**
 * Notices that this machine was suspended: the monotonic clock stood still then, and leases that were judged by it are
 * void. The wall clock went on, and so did the time since boot. The first is cheap enough to be asked for every read that a
 * lease serves, but it may be set; the second is asked with each heartbeat.
 */
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { RaftCore } from './core/core.ts'
import type { LogIndex } from './core/message.ts'

/** Clocks that differ by less may have been read at different moments; a lease leaves more than that unused. */
const jumpMs = 30

export type SuspensionOptions = {
  readonly clock: Clock
  /** Milliseconds since the machine was started, with the time it was suspended. */
  readonly bootMs: () => number
  readonly logger: Logger
}

type Leased = Pick<RaftCore, 'role' | 'suspended'>
type Reads = Pick<RaftCore, 'readNow' | 'suspended'>

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

  /** `core.readNow`, by a lease that this machine was not suspended under. `now` was read a moment ago. */
  readNow(core: Reads, linearizable: boolean, now: number): LogIndex | null {
    const index = core.readNow(linearizable, now)
    if (index === null || !this.#jumped(core, now)) return index
    return core.readNow(linearizable, now)
  }

  /** The lease may answer the question that comes next. */
  beforeQuestion(core: Pick<RaftCore, 'suspended'>, now: number): void {
    this.#jumped(core, now)
  }

  /** The same by the time since boot. Slow ways of the wall clock are followed here, so that they do not add up. */
  onTimer(core: Leased): void {
    if (core.role !== 'leader') return
    const { clock, bootMs } = this.#options
    const now = clock.monotonicMs()
    const aheadMs = bootMs() - now
    const jumped = aheadMs - this.#bootAheadMs > jumpMs
    if (jumped || aheadMs < this.#bootAheadMs) this.#bootAheadMs = aheadMs
    if (jumped) this.#void(core, now)
    this.#jumped(core, now)
    this.#wallAheadMs = clock.wallMs() - now
  }

  /** Voids the lease if the wall clock jumped ahead since this was asked last. It may have been set: then for nothing. */
  #jumped(core: Pick<RaftCore, 'suspended'>, now: number): boolean {
    const aheadMs = this.#options.clock.wallMs() - now
    const jumped = aheadMs - this.#wallAheadMs > jumpMs
    if (jumped) this.#void(core, now)
    if (jumped || aheadMs < this.#wallAheadMs) this.#wallAheadMs = aheadMs
    return jumped
  }

  #void(core: Pick<RaftCore, 'suspended'>, now: number): void {
    this.#options.logger.info('this machine was suspended, or its clock was set')
    core.suspended(now)
  }
}
