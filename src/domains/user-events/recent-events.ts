/** The last events that are for this agent, in the order they came, and who waits for the next. */
import type { Logger } from '../../lib/log.ts'
import { textOf } from '../../lib/errors.ts'
import { memberPattern } from '../../lib/regex/member-pattern.ts'
import type { Pattern } from '../../lib/regex/pattern.ts'
import { eventsKeptMax, indexOfEvent, nameLengthMax, type UserEvent } from './model.ts'
import type { EventAgent, UserEventPool } from './pool.ts'

export class RecentEvents {
  readonly #agent: EventAgent
  readonly #log: Logger
  readonly #events: UserEvent[] = []
  readonly #waiting = new Set<() => void>()
  #forget: (() => void) | null = null

  constructor(agent: EventAgent, log: Logger) {
    this.#agent = agent
    this.#log = log
  }

  /** Null: there is no gossip to hear. */
  listen(pool: UserEventPool | null): void {
    this.#forget = pool?.onEvent((event) => this.heard(event)) ?? null
  }

  stop(): void {
    this.#forget?.()
    this.#forget = null
  }

  /** The oldest first. */
  list(): readonly UserEvent[] {
    return [...this.#events]
  }

  /** One from gossip, which may hold anything. */
  heard(event: UserEvent): void {
    const { id, name } = event
    if (indexOfEvent(id) === null || name === '' || name.length > nameLengthMax) {
      this.#log.debug('a user event of another program is left out', { event: id.slice(0, 64) })
      return
    }
    // Gossip knows an event by its time for as long as its ring reaches; this list may reach further.
    if (this.#events.some((known) => known.id === id) || !this.#isForThis(event)) return
    this.#events.push(event)
    if (this.#events.length > eventsKeptMax) this.#events.shift()
    for (const wake of this.#waiting) wake()
  }

  /** `wake` is called at each event from now on. Returns the way to stop that. */
  onChange(wake: () => void): () => void {
    this.#waiting.add(wake)
    return () => {
      this.#waiting.delete(wake)
    }
  }

  #isForThis({ id, nodeFilter, serviceFilter, tagFilter }: UserEvent): boolean {
    try {
      if (nodeFilter !== '' && !memberPattern(nodeFilter).test(this.#agent.node)) return false
      if (serviceFilter === '') return true
      const byName = memberPattern(serviceFilter)
      const byTag: Pattern | null = tagFilter === '' ? null : memberPattern(tagFilter)
      return this.#agent
        .services()
        .some(
          ({ name, tags }) =>
            byName.test(name) && (byTag === null || tags.some((tag) => byTag.test(tag))),
        )
    } catch (error) {
      this.#log.debug('a user event has a filter that is none', {
        event: id,
        reason: textOf(error),
      })
      return false
    }
  }
}
