/** What a path answers is followed: blocking queries, one after the other. */
import { delay } from '../../lib/async.ts'
import { systemClock } from '../../lib/clock.ts'
import { integerOf, objectOf } from './answer.ts'
import type { Answer, ApiClient, Search } from './client.ts'
import type { JsonObject } from '../../lib/exact-json.ts'
import { Servers } from './servers.ts'

/** With what servers add to it the answer comes well before the client gives up (`silenceMsMax`). */
const waitedSeconds = 45
/** Beyond the wait, for servers that are between two leaders. */
const patienceMs = 30_000
/** Where a server does not wait for a change. */
const pauseMs = 1_000

export type Followed = {
  readonly path: string
  /** What the next query waits to see pass. Default: the answer's `ModifyIndex`. */
  readonly indexOf?: (answer: Answer) => string
}

/** `look` gets the answer each time that it has changed; what it returns, but null, is the end. */
export async function followPath<Result>(
  client: ApiClient,
  { path, indexOf = ({ json }) => integerOf(objectOf(json), 'ModifyIndex') }: Followed,
  look: (found: JsonObject) => Result | null,
): Promise<Result> {
  let index = '0'
  for (;;) {
    const search = index === '0' ? {} : { index, wait: `${waitedSeconds}s` }
    const answer = await askPatiently(client, path, search)
    const before = index
    index = indexOf(answer)
    if (index === before) {
      await delay(systemClock, pauseMs)
      continue
    }
    const result = look(objectOf(answer.json))
    if (result !== null) return result
  }
}

export function askPatiently(
  client: ApiClient,
  path: string,
  search: Search = {},
): Promise<Answer> {
  const signal = AbortSignal.timeout(waitedSeconds * 1_000 + patienceMs)
  return new Servers([client], systemClock).ask('GET', path, { search, signal })
}
