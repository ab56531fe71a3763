/** What the runner asks of the servers over the uplink. */
import { feed, read, report } from '../../domains/allocations/agent-contracts.ts'
import {
  feedWaitMsMax,
  type Feed,
  type FeedArgs,
  type ReadReply,
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

  read(ids: readonly string[]): Promise<ReadReply> {
    return this.#ask(read, { ids: [...ids] }, answerMs)
  }

  report(reports: readonly ClientReport[]): Promise<ReportReply> {
    return this.#ask(report, { reports: [...reports] }, reportMs)
  }
}
