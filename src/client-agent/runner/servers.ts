/** What the runner asks of the servers over the uplink. Servers are believed after a look at what they sent. */
import type { Static, TSchema } from 'typebox'
import { Compile } from 'typebox/schema'
import {
  Feed,
  feedMethod,
  feedWaitMsMax,
  readMethod,
  ReadReply,
  reportMethod,
  ReportReply,
  type FeedArgs,
} from '../../domains/allocations/feed-model.ts'
import type { ClientReport } from '../../domains/allocations/model.ts'
import { MusterError } from '../../lib/errors.ts'

const answerMs = 10_000
/** A write waits for a leader. */
const reportMs = 15_000

export type Ask = (method: string, args: unknown, timeoutMs: number) => Promise<unknown>

/** Each rejects with `unavailable` while there is no uplink. */
export class WorkServers {
  readonly #ask: Ask

  constructor(ask: Ask) {
    this.#ask = ask
  }

  async feed(known: Pick<FeedArgs, 'index' | 'tag'>): Promise<Feed> {
    const args = { ...known, waitMs: feedWaitMsMax }
    return checkedFeed(await this.#ask(feedMethod, args, feedWaitMsMax + answerMs))
  }

  async read(ids: readonly string[]): Promise<ReadReply> {
    return checkedRead(await this.#ask(readMethod, { ids }, answerMs))
  }

  async report(reports: readonly ClientReport[]): Promise<ReportReply> {
    return checkedReport(await this.#ask(reportMethod, { reports }, reportMs))
  }
}

const checkedFeed = checked(Feed, feedMethod)
const checkedRead = checked(ReadReply, readMethod)
const checkedReport = checked(ReportReply, reportMethod)

function checked<Schema extends TSchema>(
  schema: Schema,
  method: string,
): (value: unknown) => Static<Schema> {
  const validator = Compile(schema)
  return (value) => {
    if (validator.Check(value)) return value
    throw new MusterError('unavailable', `a server answered ${method} with what cannot be read`)
  }
}
