/** The leader forgets what is over, a little at a time: each entry is followed by a pause as long as it took. */
import type { Key } from '../../fsm/domain.ts'
import { delay } from '../../lib/async.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { endedEvaluations } from '../evaluations/queries.ts'
import { onView } from '../host.ts'
import { collectedMax, collectEnded, isCollectable } from './collect-commands.ts'
import { endedAllocations } from './queries.ts'

const roundMs = 300_000
const retryMs = 5_000
/** How long what is over is kept, as by Nomad. */
const keptMs = 3_600_000
/** Candidates that are read at a time. */
const candidatesMax = 16 * collectedMax

/** Where an operator's word goes: to the duty of this server, at once or when it begins. */
export class AllocationCollector {
  #collectNow: (() => void) | null = null
  #isAsked = false

  start(context: DutyContext): Running {
    const collection = new Collection(context)
    this.#collectNow = () => collection.collectNow()
    if (this.#isAsked) this.collectNow()
    return {
      stop: () => {
        this.#collectNow = null
        return collection.stop()
      },
    }
  }

  /** All that is over, however new. Goes on after it returned. */
  collectNow(): void {
    this.#isAsked = this.#collectNow === null
    this.#collectNow?.()
  }
}

class Collection implements Running {
  readonly #context: DutyContext
  readonly #rounds: ReturnType<typeof periodic>
  #all = false

  constructor(context: DutyContext) {
    this.#context = context
    this.#rounds = periodic({
      clock: context.clock,
      log: context.log,
      failure: 'what is over could not be collected',
      firstMs: retryMs,
      everyMs: roundMs,
      retryMs,
      round: (signal) => this.#round(signal),
    })
  }

  collectNow(): void {
    this.#all = true
    this.#rounds.wake()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #round(signal: AbortSignal): Promise<void> {
    const nowMs = Math.floor(this.#context.clock.wallMs())
    const beforeMs = Math.max(0, this.#all ? nowMs : nowMs - keptMs)
    this.#all = false
    const count =
      (await this.#collect('allocations', beforeMs, signal)) +
      (await this.#collect('evaluations', beforeMs, signal))
    if (count > 0) this.#context.log.info('what is over was collected', { count })
  }

  async #collect(
    what: 'allocations' | 'evaluations',
    beforeMs: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, propose } = this.#context
    let count = 0
    let from: Key | null = null
    do {
      const found: Found = await this.#candidates(what, from, beforeMs)
      for (let at = 0; at < found.ids.length && !signal.aborted; at += collectedMax) {
        const ids = found.ids.slice(at, at + collectedMax)
        const beganMs = clock.monotonicMs()
        const none = { allocations: [], evaluations: [] }
        const { outcome } = await propose(collectEnded, { ...none, [what]: ids, beforeMs })
        count += outcome.count
        await delay(clock, clock.monotonicMs() - beganMs, signal)
      }
      from = found.next
    } while (from !== null && !signal.aborted)
    return count
  }

  #candidates(
    what: 'allocations' | 'evaluations',
    from: Key | null,
    beforeMs: number,
  ): Promise<Found> {
    return onView(this.#context.view, async (reader) => {
      const ids: string[] = []
      let looked = 0
      const pages =
        what === 'allocations' ? endedAllocations(reader, from) : endedEvaluations(reader, from)
      for await (const page of pages) {
        for (const row of page) {
          if (row.modifyMs > beforeMs) return { ids, next: null }
          if (looked === candidatesMax) return { ids, next: [row.modifyMs, row.id] }
          looked += 1
          if (!('clientStatus' in row) || isCollectable(reader, row, beforeMs)) ids.push(row.id)
        }
      }
      return { ids, next: null }
    })
  }
}

/** `next`: where the index goes on; null: nowhere. */
type Found = { readonly ids: readonly string[]; readonly next: Key | null }
