/**
 * Finding the pool: tries the configured addresses, and those of known servers, until one answers; and again whenever
 * this member is alone. It never gives up, and says each reason once.
 *
 * To know a member is not to be in its pool: who was given up and comes back hears gossip that is sent after the dead,
 * and knows some of the others long before they know it. So one join is made in any case.
 */
import type { GossipNode } from '../gossip/gossip.ts'
import type { Clock, Timer } from '../lib/clock.ts'
import { textOf } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { Random } from '../lib/random.ts'

const firstPauseMs = 250
export const pauseMsMax = 30_000
/** Once in a pool: how often it looks whether it is alone again. */
const watchMs = 10_000
/** Reasons that were said, the oldest forgotten first. */
const reasonsMax = 64

export type RetryJoinOptions = {
  readonly gossip: Pick<GossipNode, 'join' | 'members' | 'name'>
  /** From the configuration. */
  readonly addresses: readonly string[]
  /** Where members of the cluster are, as they say now; for a server that comes back. */
  readonly known: () => Promise<readonly string[]>
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

export class RetryJoin {
  readonly #options: RetryJoinOptions
  readonly #said = new Set<string>()
  #timer: Timer | null = null
  #stopped = false
  #joined = false
  #turn: Promise<void> = Promise.resolve()
  #pauseMs = firstPauseMs

  constructor(options: RetryJoinOptions) {
    this.#options = options
  }

  start(): void {
    this.#next(0)
  }

  /** No more attempts. One that is under way ends by itself, or with the pool. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** After `stop`: resolves once nothing is under way. */
  async ended(): Promise<void> {
    await this.#turn
  }

  #next(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = this.#options.clock.setTimer(delayMs, () => {
      this.#turn = this.#try()
        .catch((error: unknown) => {
          if (!this.#stopped) this.#sayOnce(textOf(error))
          return this.#longer()
        })
        .then((pauseMs) => this.#next(pauseMs))
    })
  }

  /** One attempt; resolves with the time to the next. */
  async #try(): Promise<number> {
    const { gossip, addresses, known, logger } = this.#options
    if (this.#joined && !this.#isAlone()) return this.#found()
    const all = [...new Set([...addresses, ...(await known())])]
    if (all.length === 0 || this.#stopped) return this.#longer()
    const { joined, errors } = await gossip.join(all)
    if (this.#stopped) return 0
    for (const { error } of errors) this.#sayOnce(textOf(error))
    if (joined === 0) return this.#longer()
    this.#joined = true
    logger.info('joined the gossip pool', { through: joined, members: gossip.members().length })
    return this.#found()
  }

  #isAlone(): boolean {
    const { gossip } = this.#options
    return !gossip.members().some(({ name, status }) => name !== gossip.name && status === 'alive')
  }

  #found(): number {
    this.#pauseMs = firstPauseMs
    this.#said.clear()
    return watchMs
  }

  /** Doubles up to the longest, with a jitter of half, so that servers do not come in step. */
  #longer(): number {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(2 * pauseMs, pauseMsMax)
    return pauseMs * (0.75 + this.#options.random.next() / 2)
  }

  #sayOnce(reason: string): void {
    if (this.#said.has(reason)) return
    if (this.#said.size >= reasonsMax) this.#said.clear()
    this.#said.add(reason)
    this.#options.logger.warn('no gossip there, trying on', { reason })
  }
}
