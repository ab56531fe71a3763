/** A round of work, again and again, with a pause between the end of one and the begin of the next. */
import { delay, Pause } from './async.ts'
import type { Clock } from './clock.ts'
import { codeOf, textOf } from './errors.ts'
import type { Logger } from './log.ts'

/** A shorter gap is not worth the timer. */
const gapMsMin = 1

export type Running = { stop(): Promise<void> }

export type Rounds = {
  readonly clock: Clock
  readonly log: Logger
  /** What the log says of a round that failed. */
  readonly failure: string
  /** Before the first round; default 0. */
  readonly firstMs?: number
  readonly everyMs: number
  /** After a round that failed. */
  readonly retryMs: number
  /** The least pause, which nothing shortens; it is part of the others. Default none. */
  readonly gapMs?: () => number
  /** Resolves to the pause before the next round, where that is not `everyMs`. `signal` fires at the stop. */
  readonly round: (signal: AbortSignal) => Promise<number | void>
}

/** Starts the rounds. `stop` resolves once none is under way. */
export function periodic(rounds: Rounds): Periodic {
  return new Periodic(rounds)
}

class Periodic implements Running {
  readonly #rounds: Rounds
  readonly #stopping = new AbortController()
  readonly #ended: Promise<void>
  readonly #pause: Pause
  #woken = false

  constructor(rounds: Rounds) {
    this.#rounds = rounds
    this.#pause = new Pause(rounds.clock)
    this.#ended = this.#run()
  }

  /**
   * The next round begins without a pause, except for the gap. A call during a round that then fails is forgotten: what
   * makes it fail may last.
   */
  wake(): void {
    this.#woken = true
    this.#pause.end()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#ended
  }

  async #run(): Promise<void> {
    const { clock, firstMs = 0, gapMs } = this.#rounds
    const { signal } = this.#stopping
    if (firstMs > 0) await this.#pause.wait(firstMs, signal)
    while (!signal.aborted) {
      this.#woken = false
      const pauseMs = await this.#round()
      const gap = gapMs?.() ?? 0
      if (gap >= gapMsMin) await delay(clock, gap, signal)
      if (!this.#woken) await this.#pause.wait(Math.max(0, pauseMs - gap), signal)
    }
  }

  /** Returns the pause after it. Never rejects. */
  async #round(): Promise<number> {
    const { round, everyMs, retryMs, failure, log } = this.#rounds
    try {
      return (await round(this.#stopping.signal)) ?? everyMs
    } catch (error) {
      this.#woken = false
      const level = codeOf(error) === 'internal' ? 'error' : 'warn'
      log[level](failure, { error: textOf(error) })
      return retryMs
    }
  }
}
