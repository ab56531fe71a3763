/** What the runner asks of the servers over the uplink. */
import { feed, read, report } from '../../domains/allocations/agent-contracts.ts'
import {
  assignedMax,
  feedWaitMsMax,
  type Assigned,
  type Feed,
  type FeedArgs,
  type ReportReply,
} from '../../domains/allocations/feed-model.ts'
import type { ClientReport } from '../../domains/allocations/model.ts'
import type { AskServer } from '../../rpc/agent-contract.ts'

const answerMs = 10_000
/** A write waits for a leader. */
const reportMs = 15_000

/** Each rejects with `unavailable` while there is no uplink. */
export class WorkServers {
  readonly #ask: AskServer

  constructor(ask: AskServer) {
    this.#ask = ask
  }

  feed(known: Pick<FeedArgs, 'index' | 'tag'>): Promise<Feed> {
    const args = { ...known, waitMs: feedWaitMsMax }
    return this.#ask(feed, args, feedWaitMsMax + answerMs)
  }

  /** In as many answers as it takes, of these alone. Ends with `signal`; rejects also where a server answers nothing. */
  async *read(ids: readonly string[], signal: AbortSignal): AsyncGenerator<readonly Assigned[]> {
    let left = ids
    while (left.length > 0 && !signal.aborted) {
      const asked = left.slice(0, assignedMax)
      const { allocations, rest } = await this.#ask(read, { ids: asked }, answerMs)
      yield allocations.filter(({ id }) => asked.includes(id))
      if (allocations.length === 0 && rest.length > 0) throw new Error('a server answers nothing')
      left = [...rest.filter((id) => asked.includes(id)), ...left.slice(asked.length)]
    }
  }

  report(reports: readonly ClientReport[]): Promise<ReportReply> {
    return this.#ask(report, { reports: [...reports] }, reportMs)
  }
}
