/**
 * Agents that wait for the data of their templates to change. Nothing is kept for one that does not wait: the tags that it brings say
 * what it knows. One that waits is woken by a change of the very rows that its answers were made of.
 */
import { delay, firstOf } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { TokenBuckets } from '../../lib/token-bucket.ts'
import { tagOf } from '../../lib/tag.ts'
import type { Authorizer } from '../../rpc/authorizer.ts'
import type { Caller } from '../../rpc/method.ts'
import type { ReadableState, Touched } from '../../rpc/state.ts'
import { originOf } from '../allocations/log-model.ts'
import { caughtUpTo, type ReadBarrier } from '../host.ts'
import { answerTo, rowsMax, type AnswerContext } from './answers.ts'
import { replyLengthMax, type DataArgs, type DataReply } from './model.ts'

/** Between two reads of one call: what changes very often is looked at no more often. */
const restMs = 50
/** Of one node; an agent asks less often. */
const callRate = { perSecond: 20, burst: 40 } as const
const nodesKept = 32_768
const anonymous: Caller = { token: null, remote: '', requestId: 'templates' }

export type DataWatchesOptions = {
  readonly clock: Clock
  readonly state: () => Pick<ReadableState, 'view' | 'park'>
  readonly barrier: () => ReadBarrier
  readonly authorizer: () => Authorizer
  readonly open: AnswerContext['open']
}

type Read = { readonly reply: DataReply; readonly touched: Touched }

export class DataWatches {
  readonly #options: DataWatchesOptions
  /** Ends the newest wait of each node. */
  readonly #waiting = new Map<string, () => void>()
  readonly #calls: TokenBuckets

  constructor(options: DataWatchesOptions) {
    this.#options = options
    this.#calls = new TokenBuckets(callRate, nodesKept, options.clock)
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  /**
   * Of a node; a call of it that waits is answered. Rejects where this server cannot learn whether it is behind, and with
   * `rate_limited`.
   */
  async next(nodeId: string, args: DataArgs, signal: AbortSignal): Promise<DataReply> {
    const { clock, barrier } = this.#options
    this.#take(nodeId)
    const endMs = clock.monotonicMs() + args.waitMs
    await caughtUpTo(args.index, this.#appliedIndex(), barrier(), signal)
    this.#waiting.get(nodeId)?.()
    let isReplaced = false
    let wake = (): void => {}
    const end = (): void => {
      isReplaced = true
      wake()
    }
    this.#waiting.set(nodeId, end)
    try {
      for (;;) {
        const { reply, touched } = await this.#read(nodeId, args)
        const leftMs = endMs - clock.monotonicMs()
        if (reply.answers.length > 0 || leftMs <= 0 || isReplaced || signal.aborted) return reply
        await firstOf<void>({
          clock,
          ms: leftMs,
          signal,
          listen: (found) => {
            wake = found
            return this.#options.state().park(touched, reply.index, found)
          },
          timeout: () => {},
          aborted: () => {},
        })
        if (!isReplaced) await delay(clock, restMs, signal)
      }
    } finally {
      if (this.#waiting.get(nodeId) === end) this.#waiting.delete(nodeId)
    }
  }

  stop(): void {
    for (const end of this.#waiting.values()) end()
  }

  #take(nodeId: string): void {
    if (this.#calls.take(nodeId) === 0) return
    const text = `a node asks for data of templates at most ${callRate.perSecond} times a second`
    throw new MusterError('rate_limited', text)
  }

  async #read(nodeId: string, { wants }: DataArgs): Promise<Read> {
    const { state, authorizer, open } = this.#options
    const view = state().view(true)
    try {
      const judge = authorizer()
      judge.touch?.(view, anonymous)
      const left = { rows: rowsMax }
      const context = { reader: view, anonymous: await judge.resolve(anonymous), open, left }
      const answers: DataReply['answers'][number][] = []
      let length = 0
      for (const [at, want] of wants.entries()) {
        const answer = await answerTo(context, nodeId, want)
        const text = JSON.stringify(answer)
        const tag = tagOf(text)
        if (tag === want.tag) continue
        length += text.length
        if (length > replyLengthMax && answers.length > 0) break
        answers.push({ at, tag, answer })
      }
      const log = originOf(view)
      const reply = { index: view.appliedIndex, ...(log !== null && { log }), answers }
      return { reply, touched: view.touched() }
    } finally {
      view.close()
    }
  }

  #appliedIndex(): number {
    const view = this.#options.state().view(false)
    const { appliedIndex } = view
    view.close()
    return appliedIndex
  }
}
