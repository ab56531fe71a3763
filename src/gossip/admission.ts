/**
 * Members that are kept out before the core hears of them: members that the owner refuses, such as servers of another cluster. What
 * is claimed about them is dropped, so that two pools that meet by mistake learn nothing of each other and stay two.
 */
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/log.ts'
import type { Endpoint, PacketMessage, PushPull } from './core/message.ts'
import { RateLimitedLog } from './rate-limited-log.ts'
import { formatEndpoint } from './wire/address.ts'
import type { RefusalReason } from './wire/counters.ts'
import { decodeTags } from './wire/tags.ts'

/** One line why a member is not to be in this pool; null: it may. */
export type Refuses = (member: {
  readonly name: string
  readonly endpoint: string
  readonly tags: ReadonlyMap<string, string>
}) => string | null

type Claimed = { readonly name: string; readonly endpoint: Endpoint; readonly meta: Uint8Array }

/** What a stranger's packet is refused for; anything else is noise. */
const strange: ReadonlySet<RefusalReason> = new Set(['wrong-key', 'wrong-label', 'plain'])
const noUserState = new Uint8Array()

export class Admission {
  readonly #refuses: Refuses
  readonly #logger: Logger
  readonly #rateLimited: RateLimitedLog

  constructor(options: {
    readonly refuses: Refuses
    readonly clock: Pick<Clock, 'monotonicMs'>
    readonly logger: Logger
  }) {
    this.#refuses = options.refuses
    this.#logger = options.logger
    this.#rateLimited = new RateLimitedLog(options.clock)
  }

  /** Whether the core may hear it. */
  admits(message: PacketMessage): boolean {
    if (message.type !== 'alive') return true
    const { node: name, endpoint, meta } = message
    return this.#objection({ name, endpoint, meta }) === null
  }

  /**
   * A peer's state without those that are refused; a text, why nothing of it is taken, when no living member is left. The
   * layer above names members without their tags, so its part is dropped as soon as one is refused.
   */
  taken(state: PushPull): PushPull | string {
    let objection: string | null = null
    const nodes = state.nodes.filter((node) => {
      const found = this.#objection(node)
      objection ??= found
      return found === null
    })
    if (objection === null) return state
    const isAnyoneLeft = nodes.some((node) => node.state === 'alive' || node.state === 'suspect')
    return isAnyoneLeft ? { ...state, nodes, userState: noUserState } : objection
  }

  /** A packet that was refused. */
  unread(from: Endpoint, reason: RefusalReason): void {
    const text = formatEndpoint(from)
    if (!strange.has(reason) || !this.#rateLimited.due(`${reason} ${text}`)) return
    this.#logger.warn('a gossip packet was refused', { from: text, reason })
  }

  #objection({ name, endpoint, meta }: Claimed): string | null {
    const tags = decodeTags(meta)
    const reason =
      tags === null ? null : this.#refuses({ name, endpoint: formatEndpoint(endpoint), tags })
    if (reason !== null && this.#rateLimited.due(reason)) {
      this.#logger.warn('a member is kept out of this pool', { reason })
    }
    return reason
  }
}
