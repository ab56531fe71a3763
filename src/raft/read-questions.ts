/**
 * Reads of this server on their way to an index: asked of the core, together where they came in one turn, and asked
 * again when there was no leader to answer.
 */
import { delay } from '../lib/async.ts'
import type { Clock } from '../lib/clock.ts'
import { MusterError } from '../lib/errors.ts'
import type { Random } from '../lib/random.ts'
import type { RaftCore } from './core/core.ts'
import type { LogIndex } from './core/message.ts'
import type { ReadResult } from './core/ready.ts'
import type { ReadMode } from './raft.ts'
import { DeadlineWaiters } from './waiters.ts'

/** A read that was refused (no leader, a leader that just changed) is asked again after this. */
const retryMs = 15

/** Reads whose deadlines lie within this may share a question, under the first of these. */
const sharedDeadlineMs = 20

/** So many reads share a question at most, for they are served in one go and hold up the event loop for so long. */
const sharedReadsMax = 16

export type ReadQuestionsOptions = {
  readonly clock: Clock
  readonly random: Random
  /** Gives the core an input; a turn follows. */
  readonly input: (give: (core: Pick<RaftCore, 'read'>, now: number) => void) => void
  /** Of the core, unless its lease is void. Throws once the node has stopped. */
  readonly readNow: RaftCore['readNow']
  /** Runs a function after the inputs that are already waiting. */
  readonly defer: (run: () => void) => void
}

type Asked = {
  readonly deadlineMs: number
  readonly answer: Promise<LogIndex | null>
  /** How many reads share it. */
  count: number
}

export class ReadQuestions {
  readonly #options: ReadQuestionsOptions
  readonly #waiters: DeadlineWaiters<number, LogIndex | null>
  /** Begins anywhere: an answer on its way to this server's earlier life must not fit a question of the next. */
  #lastId: number
  /** What the reads of this turn wait for. */
  #asked = nothingAsked()

  constructor(options: ReadQuestionsOptions) {
    this.#options = options
    this.#waiters = new DeadlineWaiters(options.clock)
    this.#lastId = Math.floor(options.random.next() * 2 ** 40)
  }

  /** A lease tells that a state of this index is fresh enough. */
  isAt(mode: ReadMode, index: LogIndex): boolean {
    const { clock, readNow } = this.#options
    const known = readNow(mode === 'linearizable', clock.monotonicMs())
    return known !== null && index >= known
  }

  /** The index that the state must have reached; null: ask again with `later`. Rejects with `no_leader` or `timeout`. */
  index(mode: ReadMode, deadlineMs: number): Promise<LogIndex | null> {
    const { clock, readNow } = this.#options
    const now = clock.monotonicMs()
    const known = readNow(mode === 'linearizable', now)
    if (known !== null) return Promise.resolve(known)
    if (now < deadlineMs) return this.#ask(mode, deadlineMs)
    return Promise.reject(new MusterError('no_leader', 'No cluster leader'))
  }

  /** As `index`, of a read that was refused, until there is a leader that answers. */
  async later(mode: ReadMode, deadlineMs: number): Promise<LogIndex> {
    for (;;) {
      await delay(this.#options.clock, retryMs)
      const index = await this.index(mode, deadlineMs)
      if (index !== null) return index
    }
  }

  /** A turn takes what was asked until now: later reads need a later round. */
  taken(): void {
    this.#asked = nothingAsked()
  }

  /**
   * Question by question, with the event loop between them. So what this turn sent leaves before the first readers are
   * served, and what those ask next is on its way while the others are: a busy leader need not wait for its followers.
   */
  answered(reads: readonly ReadResult[], hasSent: boolean): void {
    if (hasSent && reads.length > 0) this.#options.defer(() => this.#answer(reads, 0))
    else this.#answer(reads, 0)
  }

  #answer(reads: readonly ReadResult[], position: number): void {
    const read = reads[position]
    if (read === undefined) return
    this.#waiters.resolve(read.id, read.index)
    if (position + 1 < reads.length) this.#options.defer(() => this.#answer(reads, position + 1))
  }

  rejectAll(error: MusterError): void {
    this.#waiters.rejectAll(error)
  }

  /** One question for reads of a turn that wait as long: they came before its round begins. */
  #ask(mode: ReadMode, deadlineMs: number): Promise<LogIndex | null> {
    const asked = this.#asked[mode]
    const laterMs = asked === null ? Infinity : deadlineMs - asked.deadlineMs
    const joins = laterMs >= 0 && laterMs < sharedDeadlineMs
    if (asked !== null && joins && asked.count < sharedReadsMax) {
      asked.count += 1
      return asked.answer
    }
    this.#lastId += 1
    const id = this.#lastId
    const answer = this.#waiters.wait(id, deadlineMs, 'the leader did not answer in time')
    this.#asked[mode] = { deadlineMs, answer, count: 1 }
    this.#options.input((core, now) => core.read(id, mode === 'linearizable', now))
    return answer
  }
}

function nothingAsked(): Record<ReadMode, Asked | null> {
  return { linearizable: null, leader: null }
}
