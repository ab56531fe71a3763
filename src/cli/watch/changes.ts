/** One view, read again and again by blocking queries: what it shows, each time that is something else. */
import { delay } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { MusterError, textOf } from '../../lib/errors.ts'
import type { Search } from '../api/client.ts'
import { lineOfJson, type Json } from '../../lib/exact-json.ts'
import type { Servers } from '../api/servers.ts'
import type { View } from './views.ts'

/** Below what any connection may be silent for, with what the server adds to it. */
const waitMs = 45_000
const attemptMsMax = waitMs + waitMs / 16 + 10_000
/** After reads that failed one after another: doubled each time. */
const pauseMsMin = 1_000
const pauseMsMax = 30_000

export type Change = { readonly index: string; readonly shown: Json }

export type ChangesOptions = {
  readonly servers: Servers
  readonly clock: Clock
  readonly view: View
  /** Of every read. */
  readonly search: Search
  readonly signal: AbortSignal
  readonly warn: (text: string) => void
}

/** First what there is, then each change. Ends when the signal fires. Throws when the very first read fails. */
export async function* changes(options: ChangesOptions): AsyncGenerator<Change> {
  const { clock, view, signal, warn } = options
  let after: string | null = null
  let known: string | null = null
  let failures = 0
  while (!signal.aborted) {
    let change: Change
    try {
      change = await read(options, after)
      failures = 0
    } catch (error) {
      if (signal.aborted) return
      if (known === null) throw error
      const pauseMs = Math.min(pauseMsMax, pauseMsMin * 2 ** failures)
      failures += 1
      warn(`${textOf(error)}; asking again in ${pauseMs / 1_000} s`)
      // From the start: another server may be asked, or a cluster that was restored.
      after = null
      await delay(clock, pauseMs, signal)
      continue
    }
    const isBack: boolean =
      view.indexGrows && after !== null && BigInt(change.index) < BigInt(after)
    after = isBack ? null : change.index
    const line = lineOfJson(change.shown)
    // A wait that was over, or a change of something else.
    if (line === known) continue
    known = line
    yield change
  }
}

async function read(
  { servers, view, search, signal }: ChangesOptions,
  after: string | null,
): Promise<Change> {
  const blocking = after === null ? {} : { index: after, wait: `${waitMs}ms` }
  const { status, json, headers } = await servers.attempt('GET', view.path, {
    search: { ...search, ...view.search, ...blocking },
    timeoutMs: attemptMsMax,
    also: [404],
    signal,
  })
  const index = headers['x-service-index'] ?? headers['x-consul-index']
  if (typeof index !== 'string' || !/^[1-9]\d*$/.test(index)) {
    throw new MusterError(
      'incompatible',
      `there is nothing to wait for at ${view.path} (${status})`,
    )
  }
  return { index, shown: view.shown(status === 404 ? null : json) }
}
