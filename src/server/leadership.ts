/**
 * Duties live on the leader: started in order once an elected server has applied the first entry of its term, stopped in
 * reverse when it no longer leads. Until that entry is applied the state may lack what was acknowledged, and requests
 * of all servers wait for it: no duty may delay it, nor the requests that waited, so duties begin a moment later.
 * A duty finds everything it needs in the state, so a new leader goes on where the last one stopped. For the same reason
 * all duties start anew when another state takes the place of this one while it leads: what they derived is of rows
 * that are gone, and nothing told them of the rows that came.
 */
import type { Clock, Timer } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Running } from '../lib/periodic.ts'

export type Duty = { readonly name: string; start(): Running }

/** What this asks of `Raft`. */
export type LeadingNode = {
  status(): { readonly role: string; readonly term: number; readonly settled: boolean }
  onChange(listener: () => void): () => void
}

export type LeadershipOptions = {
  readonly node: LeadingNode
  /** `machine.onReplaced`: calls the listener when another state took the place of this one. Returns the way to stop. */
  readonly onReplaced: (listener: () => void) => () => void
  readonly duties: readonly Duty[]
  /** From when an elected server is settled to its duties' start. */
  readonly firstRequestsMs: number
  readonly clock: Clock
  readonly logger: Logger
}

export class Leadership {
  readonly #node: LeadingNode
  readonly #duties: readonly Duty[]
  readonly #firstRequestsMs: number
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #unsubscribe: readonly (() => void)[]
  /** Terms change faster than duties stop: each change waits for the one before. */
  #turn: Promise<void> = Promise.resolve()
  #running: Running[] = []
  #term = 0
  /** When the duties of a term may start. */
  #next: { readonly term: number; readonly atMs: number } | null = null
  #timer: Timer | null = null
  /** The state that the running duties were started on is gone. */
  #isReplaced = false
  #stopped = false

  constructor(options: LeadershipOptions) {
    this.#node = options.node
    this.#duties = options.duties
    this.#firstRequestsMs = options.firstRequestsMs
    this.#clock = options.clock
    this.#logger = options.logger
    this.#unsubscribe = [
      options.node.onChange(() => this.#changed()),
      options.onReplaced(() => {
        this.#isReplaced = true
        this.#changed()
      }),
    ]
    this.#changed()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const unsubscribe of this.#unsubscribe) unsubscribe()
    this.#changed()
    await this.#turn
    this.#timer?.cancel()
  }

  /** Looks at what is true when its turn comes, not at what was true when it was called. */
  #changed(): void {
    this.#turn = this.#turn.then(async () => {
      const { role, term, settled } = this.#node.status()
      const leads = role === 'leader' && settled && !this.#stopped
      const isRunning = this.#running.length > 0
      const goesOn = leads && term === this.#term
      if (isRunning && !(goesOn && !this.#isReplaced)) await this.#stopAll()
      if (isRunning && !goesOn)
        this.#logger.info('this server no longer leads', { term: this.#term })
      if (!leads || this.#running.length > 0) return
      if (isRunning && goesOn) {
        this.#logger.info('the state was replaced: duties start anew', { term })
      } else {
        if (!this.#mayStart(term)) return
        this.#logger.info('this server leads', { term })
      }
      this.#startAll(term)
    })
  }

  /** False: it looks again when the moment has come. */
  #mayStart(term: number): boolean {
    const nowMs = this.#clock.monotonicMs()
    if (this.#next?.term !== term) this.#next = { term, atMs: nowMs + this.#firstRequestsMs }
    const leftMs = this.#next.atMs - nowMs
    this.#timer?.cancel()
    this.#timer = leftMs <= 0 ? null : this.#clock.setTimer(leftMs, () => this.#changed())
    return leftMs <= 0
  }

  #startAll(term: number): void {
    this.#term = term
    // Before they read: a state that comes after this is another one again.
    this.#isReplaced = false
    this.#running = this.#duties.map((duty) => duty.start())
  }

  async #stopAll(): Promise<void> {
    for (const duty of this.#running.toReversed()) {
      await duty.stop().catch((error: unknown) => {
        this.#logger.error('a leader task failed to stop', { reason: textOf(error) })
      })
    }
    this.#running = []
  }
}
