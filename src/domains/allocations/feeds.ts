/**
 * Agents that wait for their allocations to change. The tag that an agent brings says what it knows; of one that was told just that here,
 * and whose node no command has concerned since, nothing is read before it waits. Commands say which nodes they concern;
 * whatever else changes is seen when the wait is over.
 */
import type { Reader } from '../../fsm/domain.ts'
import { Pause } from '../../lib/async.ts'
import type { Clock } from '../../lib/clock.ts'
import { Gate } from '../../lib/gate.ts'
import { LruMap } from '../../lib/lru-map.ts'
import { tagOf } from '../../lib/tag.ts'
import { caughtUpTo, onView, type OpenView, type ReadBarrier } from '../host.ts'
import { feedMax, type Feed, type FeedArgs } from './feed-model.ts'
import { originOf } from './log-model.ts'
import { placesOnNode } from './queries.ts'

/** Nodes whose last answer is remembered: as many as a server has agents. */
const toldMax = 32_768
/** Of very many that are woken at once, each takes native memory while it reads. */
const readsMax = 32

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
  /** By node, the tag that it was told last, while nothing has changed since. */
  readonly #told = new LruMap<string, string>(toldMax)
  readonly #reads = new Gate(readsMax)
  #readCount = 0

  constructor(options: FeedsOptions) {
    this.#options = options
  }

  get waitingCount(): number {
    return this.#waiting.size
  }

  /** Looks at the state since the start. */
  get readCount(): number {
    return this.#readCount
  }

  wake(nodeIds: Iterable<string>): void {
    for (const id of nodeIds) this.#wake(id)
  }

  wakeAll(): void {
    this.#told.clear()
    this.wake(this.#waiting.keys())
  }

  /** Of a node; a call of it that waits is answered. Rejects where this server cannot learn whether it is behind. */
  async next(nodeId: string, args: FeedArgs, signal: AbortSignal): Promise<Feed> {
    const { clock, view, barrier } = this.#options
    const { index, tag, waitMs } = args
    const endMs = clock.monotonicMs() + waitMs
    const applied = await onView(view, (reader) => Promise.resolve(reader.appliedIndex))
    await caughtUpTo(index, applied, barrier(), signal)
    this.#end(this.#waiting.get(nodeId))
    const waiting: Waiting = { pause: new Pause(clock), isWoken: false }
    this.#waiting.set(nodeId, waiting)
    try {
      if (waitMs > 0 && this.#told.get(nodeId) === tag) await waiting.pause.wait(waitMs, signal)
      for (;;) {
        waiting.isWoken = false
        this.#readCount += 1
        const feed = await this.#reads.run(() => onView(view, (reader) => feedOf(reader, nodeId)))
        const leftMs = endMs - clock.monotonicMs()
        const isReplaced = this.#waiting.get(nodeId) !== waiting
        if (feed.tag !== tag || leftMs <= 0 || isReplaced || signal.aborted) {
          // What changed while it was read is in no tag.
          if (!waiting.isWoken) this.#told.set(nodeId, feed.tag)
          return feed
        }
        // What came while the state was read has woken it before it slept.
        if (!waiting.isWoken) await waiting.pause.wait(leftMs, signal)
      }
    } finally {
      if (this.#waiting.get(nodeId) === waiting) this.#waiting.delete(nodeId)
    }
  }

  #wake(nodeId: string): void {
    this.#told.delete(nodeId)
    this.#end(this.#waiting.get(nodeId))
  }

  #end(waiting: Waiting | undefined): void {
    if (waiting === undefined) return
    waiting.isWoken = true
    waiting.pause.end()
  }
}

async function feedOf(reader: Reader, nodeId: string): Promise<Feed> {
  const index = reader.appliedIndex
  const log = originOf(reader)
  const allocations: [string, number][] = []
  for await (const page of placesOnNode(reader, nodeId)) {
    for (const [id, allocModifyIndex] of page) allocations.push([id, allocModifyIndex])
    if (allocations.length >= feedMax) break
  }
  const known = allocations.slice(0, feedMax)
  const tag = tagOf(JSON.stringify(known))
  return { index, ...(log !== null && { log }), tag, allocations: known }
}
