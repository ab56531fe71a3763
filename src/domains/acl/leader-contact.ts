/**
 * Whether this server may rely on the tokens that it knows. A revocation that was acknowledged is in the state of every server that
 * asked the leader afterwards and has its answer. So a server that asked less than a second ago refuses each token whose
 * revocation was acknowledged a second ago, whatever became of the network since.
 *
 * The moment that counts is that of the question. A message of the leader proves nothing by itself: it may have been on its way for long.
 */
import type { Clock } from '../../lib/clock.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'

/** A request is refused within a second of the acknowledgement, and takes a moment itself. */
export const trustedMs = 900
/** The next question is asked while the last answer is still good, so that requests do not wait for it. */
const askAgainMs = 400

export type LeaderContactOptions = {
  /** Resolves when this server's state is as new as the leader's was at the call, or rejects. */
  readonly freshen: () => Promise<void>
  readonly clock: Clock
  readonly log: Logger
}

export class LeaderContact {
  readonly #options: LeaderContactOptions
  /** When the last question was asked that is answered. */
  #askedMs = -Infinity
  /** Resolves to whether it was answered. */
  #asking: Promise<boolean> | null = null

  constructor(options: LeaderContactOptions) {
    this.#options = options
  }

  /** Null: the state is new enough. Otherwise resolves once it is; rejects with `no_leader` where no leader answers. */
  confirm(): Promise<void> | null {
    const nowMs = this.#options.clock.monotonicMs()
    const ageMs = nowMs - this.#askedMs
    if (ageMs < askAgainMs) return null
    this.#asking ??= this.#ask()
    return ageMs < trustedMs ? null : this.#confirmed(nowMs)
  }

  /** Who comes while a question waits long for its answer may need one of its own. */
  async #confirmed(beganMs: number): Promise<void> {
    while (beganMs - this.#askedMs >= trustedMs) {
      this.#asking ??= this.#ask()
      if (!(await this.#asking)) throw unconfirmed()
    }
  }

  /** Never rejects. */
  async #ask(): Promise<boolean> {
    const { clock, freshen, log } = this.#options
    const askedMs = clock.monotonicMs()
    try {
      await freshen()
      this.#askedMs = askedMs
      return true
    } catch (error) {
      log.debug('no leader confirms what is known here of tokens', { error: textOf(error) })
      return false
    } finally {
      this.#asking = null
    }
  }
}

function unconfirmed(): MusterError {
  return new MusterError(
    'no_leader',
    'No cluster leader: this server cannot know whether the token was revoked ' +
      '(acl.down_policy = "extend-cache" trusts what it knows)',
  )
}
