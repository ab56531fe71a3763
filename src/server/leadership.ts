/**
 * Duties live on the leader: started in order when this server is elected, stopped in reverse when it no longer leads.
 * A duty finds everything it needs in the state, so a new leader goes on where the last one stopped.
 */
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { RaftNode } from '../raft/node.ts'

export type RunningDuty = { stop(): Promise<void> }

export type Duty = { readonly name: string; start(): RunningDuty }

export class Leadership {
  readonly #node: RaftNode
  readonly #duties: readonly Duty[]
  readonly #logger: Logger
  readonly #unsubscribe: () => void
  /** Terms change faster than duties stop: each change waits for the one before. */
  #turn: Promise<void> = Promise.resolve()
  #running: RunningDuty[] = []
  #term = 0
  #stopped = false

  constructor(options: {
    readonly node: RaftNode
    readonly duties: readonly Duty[]
    readonly logger: Logger
  }) {
    this.#node = options.node
    this.#duties = options.duties
    this.#logger = options.logger
    this.#unsubscribe = options.node.onChange(() => this.#changed())
    this.#changed()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unsubscribe()
    this.#changed()
    await this.#turn
  }

  /** Looks at what is true when its turn comes, not at what was true when it was called. */
  #changed(): void {
    this.#turn = this.#turn.then(async () => {
      const { role, term } = this.#node.status()
      const leads = role === 'leader' && !this.#stopped
      if (this.#running.length > 0 && !(leads && term === this.#term)) await this.#stopAll()
      if (leads && this.#running.length === 0) this.#startAll(term)
    })
  }

  #startAll(term: number): void {
    this.#term = term
    this.#logger.info('this server leads', { term })
    this.#running = this.#duties.map((duty) => duty.start())
  }

  async #stopAll(): Promise<void> {
    for (const duty of this.#running.toReversed()) {
      await duty.stop().catch((error: unknown) => {
        this.#logger.error('a duty did not stop well', { reason: textOf(error) })
      })
    }
    this.#running = []
    this.#logger.info('this server no longer leads', { term: this.#term })
  }
}
