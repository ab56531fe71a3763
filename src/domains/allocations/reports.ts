/**
 * Reports of the agents whose uplinks this server holds, on their way to the leader: those that come while a batch is under way go
 * together in the next one.
 */
import type { Clock } from '../../lib/clock.ts'
import { MusterError } from '../../lib/errors.ts'
import { TokenBuckets } from '../../lib/token-bucket.ts'
import { reportsMax } from './feed-model.ts'
import type { Reported } from './reported-commands.ts'

/** Characters of one batch; one call is never more. */
const batchLengthMax = 524_288
/** Reports that wait. */
const waitingMax = 65_536
/** Of one node: a burst, and so many in each second. */
const rate = { perSecond: 512, burst: 4_096 }
/** A longer report counts as several. */
const lengthPerReport = 4_096
/** Nodes whose budgets are known; another one's is whole. */
const budgetsMax = 32_768

/** An allocation that a node reported and that is not its own, or gone. */
export type Unknown = { readonly node: string; readonly id: string }
export type BatchReply = { readonly index: number; readonly unknown: readonly Unknown[] }

type Call = {
  readonly reports: readonly Reported[]
  readonly length: number
  readonly answer: PromiseWithResolvers<BatchReply>
}

export class ReportBatches {
  readonly #send: (reports: readonly Reported[]) => Promise<BatchReply>
  readonly #budgets: TokenBuckets
  #calls: Call[] = []
  #waiting = 0
  #isSending = false

  constructor(clock: Clock, send: (reports: readonly Reported[]) => Promise<BatchReply>) {
    this.#budgets = new TokenBuckets(rate, budgetsMax, clock)
    this.#send = send
  }

  /** Resolves when the leader has them in its state. Throws `rate_limited` or `overloaded` at the bounds. */
  add(node: string, reports: readonly Reported[]): Promise<BatchReply> {
    const { length } = JSON.stringify(reports)
    this.#spend(node, Math.max(reports.length, Math.ceil(length / lengthPerReport)))
    if (this.#waiting + reports.length > waitingMax) {
      throw new MusterError('overloaded', `${waitingMax} reports wait for the leader: try again`)
    }
    this.#waiting += reports.length
    const answer = Promise.withResolvers<BatchReply>()
    this.#calls.push({ reports, length, answer })
    if (!this.#isSending) void this.#sendAll()
    return answer.promise
  }

  async #sendAll(): Promise<void> {
    this.#isSending = true
    while (this.#calls.length > 0) {
      const batch = this.#nextBatch()
      const reports = batch.flatMap((call) => call.reports)
      try {
        const reply = await this.#send(reports)
        for (const { answer } of batch) answer.resolve(reply)
      } catch (error) {
        for (const { answer } of batch) answer.reject(error)
      }
      this.#waiting -= reports.length
    }
    this.#isSending = false
  }

  #nextBatch(): readonly Call[] {
    let count = 0
    let length = 0
    const end = this.#calls.findIndex((call, at) => {
      count += call.reports.length
      length += call.length
      return at > 0 && (count > reportsMax || length > batchLengthMax)
    })
    return this.#calls.splice(0, end === -1 ? this.#calls.length : end)
  }

  #spend(node: string, count: number): void {
    if (this.#budgets.take(node, count) === 0) return
    const text = `one node may report ${rate.perSecond} changes of allocations a second, of ${lengthPerReport} characters each`
    throw new MusterError('rate_limited', text)
  }
}
