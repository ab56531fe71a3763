/** The queries that members ask one another by themselves: the exchange of keys, and who bears a name. */
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Logger } from '../lib/log.ts'
import type { GossipCore } from './core/core.ts'
import type { Endpoint, SerfQuery } from './core/message.ts'
import type { Profile } from './core/profile.ts'
import type { Question } from './core/queries.ts'
import type { KeyOperation, KeyReport } from './gossip.ts'
import { KeyAnswers, keyQuestion, type OwnKeys } from './keys.ts'
import type { GossipLoop } from './loop.ts'
import { nameQuestion, NameVote, type NameVerdict } from './name-vote.ts'
import { encodeConflictResponse, internalQuery } from './wire/internal-queries.ts'
import { textFrom } from './wire/text.ts'

/** A query gets as many gossip intervals, times the logarithm of the pool's size, as serf gives it. */
const queryTimeoutMultiplier = 16
/** Between two votes about the own name: the pool changes no faster, and an operator reads no faster. */
const voteIntervalMs = 60_000

export type QueryParts = {
  readonly name: string
  readonly keys: OwnKeys
  readonly profile: Profile
  readonly clock: Clock
  readonly logger: Logger
  /** Throws unavailable when gossip does not run. */
  readonly running: () => { readonly core: GossipCore; readonly loop: GossipLoop }
}

/** A question of this member under way. */
type Call = {
  /** True: nothing more is to come. */
  readonly answered: (from: string, payload: Uint8Array) => boolean
  /** Null: it had its time, or its answers. */
  readonly end: (error: MusterError | null) => void
}

export class InternalQueries {
  readonly #parts: QueryParts
  /** By id; the core bounds them. */
  readonly #calls = new Map<number, Call>()
  #votedAt = -Infinity

  constructor(parts: QueryParts) {
    this.#parts = parts
  }

  /** Ends when all living members answered, or at the time-out. */
  async keysEverywhere(operation: KeyOperation, timeoutMs?: number): Promise<KeyReport> {
    const { keys, running } = this.#parts
    keys.required()
    const living = livingNames(running().core)
    const answers = new KeyAnswers(living)
    const { promise, resolve, reject } = Promise.withResolvers<KeyReport>()
    this.#ask(keyQuestion(operation, timeoutMs ?? this.#timeoutMs(living.size)), {
      answered: (from, payload) => answers.add(from, payload),
      end: (error) => {
        if (error === null) resolve(answers.report())
        else reject(error)
      },
    })
    return promise
  }

  /** Another member claims the name of this one, which is at `own`: asks the pool, once a minute at most. */
  nameClaimed(own: Endpoint, onVerdict: (verdict: NameVerdict) => void): void {
    const { name, clock, running, logger } = this.#parts
    const now = clock.monotonicMs()
    if (now - this.#votedAt < voteIntervalMs) return
    this.#votedAt = now
    const living = livingNames(running().core)
    const vote = new NameVote(name, own)
    try {
      this.#ask(nameQuestion(name, this.#timeoutMs(living.size)), {
        answered: (from, payload) => {
          if (living.has(from)) vote.add(payload)
          return false
        },
        end: (error) => {
          if (error === null) onVerdict(vote.verdict())
        },
      })
    } catch (error) {
      if (!(error instanceof MusterError)) throw error
      logger.warn('the pool is not asked who bears this name', { error: error.message })
    }
  }

  answered(id: number, from: string, payload: Uint8Array): void {
    const call = this.#calls.get(id)
    if (call?.answered(from, payload) === true) this.#end(id, null)
  }

  ended(id: number): void {
    this.#end(id, null)
  }

  /** No member will answer any more. */
  release(error: MusterError): void {
    for (const id of this.#calls.keys()) this.#end(id, error)
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

  #ask(question: Question, call: Call): void {
    // The own answer comes as soon as the loop has control again: the call must be known by then.
    this.#parts.running().loop.input((core, now) => {
      this.#calls.set(core.query(question, now), call)
    })
  }

  #end(id: number, error: MusterError | null): void {
    const call = this.#calls.get(id)
    this.#calls.delete(id)
    call?.end(error)
  }

  /** Where this member sees a name, for members that settle a conflict; about its own it has no vote. */
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

function livingNames(core: GossipCore): ReadonlySet<string> {
  const living = core.members().filter(({ status }) => status === 'alive')
  return new Set(living.map(({ name }) => name))
}
