/**
 * Hands committed entries to the state machine, in order, many at a time, one call at a time.
 */
import type { RaftCore } from './core/core.ts'
import type { Entry } from './core/message.ts'
import type { RaftNodeOptions } from './raft.ts'

/** One call of the state machine gets at most this much: an event-loop turn, not a second. */
const applyBytesMax = 1 << 20

export type ApplierHandlers = {
  readonly core: () => RaftCore | null
  readonly applied: (entries: readonly Entry[], outcomes: readonly unknown[]) => void
  readonly failed: (error: unknown) => void
}

export class Applier {
  readonly #options: RaftNodeOptions
  readonly #handlers: ApplierHandlers
  #busy: Promise<void> | null = null
  #held = false

  constructor(options: RaftNodeOptions, handlers: ApplierHandlers) {
    this.#options = options
    this.#handlers = handlers
  }

  /** Applies what may be applied, if it is not at it already. */
  kick(): void {
    if (this.#busy !== null || this.#held) return
    const core = this.#handlers.core()
    if (core === null || core.applicableIndex <= this.#options.machine.appliedIndex) return
    this.#busy = this.#run().then(
      () => {
        this.#busy = null
        this.kick()
      },
      (error: unknown) => {
        this.#held = true
        this.#busy = null
        this.#handlers.failed(error)
      },
    )
  }

  /** Runs `work` while nothing is being applied; nothing is applied until it is done. */
  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    this.#held = true
    await this.idle()
    try {
      return await work()
    } finally {
      this.#held = false
      this.kick()
    }
  }

  async idle(): Promise<void> {
    while (this.#busy !== null) await this.#busy
  }

  async #run(): Promise<void> {
    const { machine, log } = this.#options
    while (!this.#held) {
      const core = this.#handlers.core()
      if (core === null) return
      const from = machine.appliedIndex + 1
      const to = core.applicableIndex
      if (to < from) return
      const entries =
        core.log.slice(from, to, applyBytesMax) ?? (await log.read(from, to, applyBytesMax))
      const outcomes = await machine.apply(core.membership.inEffect(entries))
      this.#handlers.applied(entries, outcomes)
    }
  }
}
