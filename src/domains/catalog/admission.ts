/** Bounds on how many client agents register their nodes at a time, and the question back to each. */
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { fullBucket, takeToken, type TokenBucket } from '../../lib/token-bucket.ts'
import type { Answers } from './witness.ts'

/** New nodes of client agents that the leader takes in within a second; the others try again. */
export const newAgentsPerSecondMax = 100
/** Agents that are asked back at once. */
export const asksBackMax = 64
const rate = { perSecond: newAgentsPerSecondMax, burst: newAgentsPerSecondMax }

export type AdmissionOptions = {
  readonly answers: Answers
  readonly clock: Clock
}

/** Asks new agents back, at bounded rates. */
export class Admission {
  readonly #options: AdmissionOptions
  readonly #newAgents: TokenBucket
  #asking = 0

  constructor(options: AdmissionOptions) {
    this.#options = options
    this.#newAgents = fullBucket(rate, options.clock.monotonicMs())
  }

  /** Throws `overloaded` at a bound, and `unavailable` when the agent does not answer where it says that it is. */
  async admit(agent: {
    readonly endpoint: string
    readonly id: string
    readonly isNew: boolean
  }): Promise<void> {
    if (agent.isNew) this.#count()
    if (this.#asking >= asksBackMax) {
      throw new MusterError('overloaded', `${asksBackMax} agents are being asked back: try again`)
    }
    this.#asking += 1
    try {
      if ((await this.#options.answers(agent.endpoint, agent.id)) === true) return
    } finally {
      this.#asking -= 1
    }
    throw new MusterError(
      'unavailable',
      `no agent with ID ${agent.id} answers gossip at ${agent.endpoint}: it must be reached there by the servers`,
    )
  }

  #count(): void {
    if (takeToken(this.#newAgents, rate, this.#options.clock.monotonicMs()) === 0) return
    const text = `${newAgentsPerSecondMax} new agents came within a second: try again`
    throw new MusterError('overloaded', text)
  }
}
