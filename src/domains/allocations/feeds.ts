/**
 * Agents that wait for their allocations to change. Nothing is kept for one that does not wait: the tag that it brings says what it
 * knows. Commands say which nodes they concern; whatever else changes is seen when the wait is over.
 */
import type { Reader } from '../../fsm/domain.ts'
import { Pause } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { tagOf } from '../../lib/tag.ts'
import { caughtUpTo, onView, type OpenView, type ReadBarrier } from '../host.ts'
import { feedMax, type Feed, type FeedArgs } from './feed-model.ts'
import { placesOnNode } from './queries.ts'

export type FeedsOptions = {
  readonly clock: Clock
  readonly view: OpenView
  readonly barrier: () => ReadBarrier
}

type Waiting = { readonly pause: Pause; isWoken: boolean }

export class AllocationFeeds {
  readonly #options: FeedsOptions
  /** The newest of each node. */
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: FeedsOptions) {
    this.#options = options
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  wake(nodeIds: Iterable<string>): void {
    for (const id of nodeIds) this.#wake(id)
  }

  wakeAll(): void {
    this.wake(this.#waiting.keys())
  }

  /** Of a node; a call of it that waits is answered. Rejects where this server cannot learn whether it is behind. */
  async next(nodeId: string, args: FeedArgs, signal: AbortSignal): Promise<Feed> {
    const { clock, view, barrier } = this.#options
    const { index, tag, waitMs } = args
    const endMs = clock.monotonicMs() + waitMs
    const applied = await onView(view, (reader) => Promise.resolve(reader.appliedIndex))
    await caughtUpTo(index, applied, barrier(), signal)
    this.#wake(nodeId)
    const waiting: Waiting = { pause: new Pause(clock), isWoken: false }
    this.#waiting.set(nodeId, waiting)
    try {
      for (;;) {
        waiting.isWoken = false
        const feed = await onView(view, (reader) => feedOf(reader, nodeId))
        const leftMs = endMs - clock.monotonicMs()
        const isReplaced = this.#waiting.get(nodeId) !== waiting
        if (feed.tag !== tag || leftMs <= 0 || isReplaced || signal.aborted) return feed
        // What came while the state was read has woken it before it slept.
        if (!waiting.isWoken) await waiting.pause.wait(leftMs, signal)
      }
    } finally {
      if (this.#waiting.get(nodeId) === waiting) this.#waiting.delete(nodeId)
    }
  }

  #wake(nodeId: string): void {
    const waiting = this.#waiting.get(nodeId)
    if (waiting === undefined) return
    waiting.isWoken = true
    waiting.pause.end()
  }
}

async function feedOf(reader: Reader, nodeId: string): Promise<Feed> {
  const index = reader.appliedIndex
  const allocations: [string, number][] = []
  for await (const page of placesOnNode(reader, nodeId)) {
    for (const [id, allocModifyIndex] of page) allocations.push([id, allocModifyIndex])
    if (allocations.length >= feedMax) break
  }
  const known = allocations.slice(0, feedMax)
  return { index, tag: tagOf(JSON.stringify(known)), allocations: known }
}
