/** The queries that members ask one another by themselves: the exchange of keys, and who bears a name. */
import { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { GossipCore } from './core/core.ts'
import type { SerfQuery } from './core/message.ts'
import type { Profile } from './core/profile.ts'
import type { KeyOperation, KeyReport } from './door.ts'
import { KeyAnswers, keyQuestion, type OwnKeys } from './keys.ts'
import type { GossipLoop } from './loop.ts'
import { encodeConflictResponse, internalQuery } from './wire/internal-queries.ts'
import { textFrom } from './wire/text.ts'

/** A query gets as many gossip intervals, times the logarithm of the pool's size, as serf gives it. */
const queryTimeoutMultiplier = 16

export type QueryParts = {
  readonly name: string
  readonly keys: OwnKeys
  readonly profile: Profile
  readonly logger: Logger
  /** Throws unavailable when gossip does not run. */
  readonly running: () => { readonly core: GossipCore; readonly loop: GossipLoop }
}

type KeyCall = {
  readonly answers: KeyAnswers
  readonly end: (error: MusterError | null) => void
}

export class InternalQueries {
  readonly #parts: QueryParts
  /** The running ones of this member, by id; the core bounds them. */
  readonly #keyCalls = new Map<number, KeyCall>()

  constructor(parts: QueryParts) {
    this.#parts = parts
  }

  /** Ends when all living members answered, or at the time-out. */
  async keysEverywhere(operation: KeyOperation, timeoutMs?: number): Promise<KeyReport> {
    const { keys, running } = this.#parts
    keys.required()
    const { core, loop } = running()
    const living = core.members().filter(({ status }) => status === 'alive')
    const answers = new KeyAnswers(new Set(living.map(({ name }) => name)))
    const question = keyQuestion(operation, timeoutMs ?? this.#timeoutMs(living.length))
    const { promise, resolve, reject } = Promise.withResolvers<KeyReport>()
    // The own answer comes as soon as the loop has control again: the call must be known by then.
    loop.input((core, now) => {
      const id = core.query(question, now)
      const end = (error: MusterError | null): void => {
        this.#keyCalls.delete(id)
        if (error === null) resolve(answers.report())
        else reject(error)
      }
      this.#keyCalls.set(id, { answers, end })
    })
    return promise
  }

  answered(id: number, from: string, payload: Uint8Array): void {
    const call = this.#keyCalls.get(id)
    if (call?.answers.add(from, payload) === true) call.end(null)
  }

  ended(id: number): void {
    this.#keyCalls.get(id)?.end(null)
  }

  /** Nobody will answer any more. */
  release(error: MusterError): void {
    for (const { end } of this.#keyCalls.values()) end(error)
  }

  /** Answers what this member knows how to; an acknowledgement has gone out already. */
  asked(query: SerfQuery): void {
    const { keys, logger, running } = this.#parts
    const { loop } = running()
    const answer =
      query.name === internalQuery.conflict
        ? this.#bearerOf(textFrom(query.payload))
        : keys.answer(query.name, query.payload)
    if (answer === null) return
    try {
      loop.input((core, now) => core.respond(query, answer, now))
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
      logger.warn('a gossip query is not answered', { query: query.name, error: error.message })
    }
  }

  /** Where this member sees a name, for those who settle a conflict; about its own it has no vote. */
  #bearerOf(name: string | null): Uint8Array | null {
    if (name === null || name === this.#parts.name) return null
    const member = this.#parts.running().core.member(name)
    return encodeConflictResponse(member === null ? null : { name, endpoint: member.endpoint })
  }

  #timeoutMs(members: number): number {
    const intervals = queryTimeoutMultiplier * Math.ceil(Math.log10(members + 1))
    return this.#parts.profile.gossipIntervalMs * intervals
  }
}
