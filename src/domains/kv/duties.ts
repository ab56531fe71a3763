/** What the leader does for keys: the marks of old deletions and lock delays that are over go, a batch at a time. */
import type { Command, Reader } from '../../fsm/domain.ts'
import type { Clock, Timer } from '../../lib/clock.ts'
import { textOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { Proposed } from '../../rpc/consensus.ts'
import { reapedRowsMax, type ReapKeys, type ReapMarks, type ReapOutcome } from './commands.ts'
import { tombstoneKeptMs } from './model.ts'
import { hasLeftovers, marksBeyondMax } from './queries.ts'

/** Marks of single keys are kept for `tombstoneKeptMs` and up to this much longer. */
export const reapEveryMs = 60_000
/** A lock delay that is over is kept this long: another leader's clock may be behind. */
export const delayKeptMs = 60_000
/** Between two batches: writes of clients go first. */
const batchPauseMs = 20

export type KvDutyContext = {
  readonly clock: Clock
  readonly log: Logger
  readonly view: () => Reader & { close(): void }
  readonly propose: (command: Command) => Promise<Proposed>
}

/** Leader only: started on election, stopped when leadership is lost. */
export function startKvDuties(context: KvDutyContext): { stop(): Promise<void> } {
  const duty = new ReapDuty(context)
  return { stop: () => duty.stop() }
}

class ReapDuty {
  readonly #context: KvDutyContext
  #timer: Timer | null = null
  #round: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(context: KvDutyContext) {
    this.#context = context
    this.#later(reapEveryMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#round
  }

  #later(delayMs: number): void {
    if (this.#stopped) return
    this.#timer = this.#context.clock.setTimer(delayMs, () => {
      this.#round = this.#reap().then((more) => this.#later(more ? batchPauseMs : reapEveryMs))
    })
  }

  /** Whether there is more to remove. */
  async #reap(): Promise<boolean> {
    const { clock, propose, view, log } = this.#context
    const nowMs = Math.floor(clock.wallMs())
    const args: ReapKeys = {
      tombstonesBeforeMs: Math.max(0, nowMs - tombstoneKeptMs),
      delaysBeforeMs: Math.max(0, nowMs - delayKeptMs),
    }
    const reader = view()
    try {
      let more = false
      if (await hasLeftovers(reader, args)) {
        const { outcome } = await propose({ type: 'kv.reap', args })
        more = (outcome as ReapOutcome).removed >= reapedRowsMax
      }
      // Writes of a cluster with older servers leave none of these.
      const marks = [...(await marksBeyondMax(reader, args.tombstonesBeforeMs))]
      if (marks.length > 0) {
        await propose({ type: 'kv.reapMarks', args: { marks } satisfies ReapMarks })
      }
      return more || marks.length >= reapedRowsMax
    } catch (error) {
      log.warn('marks of deleted keys could not be removed yet', { error: textOf(error) })
      return false
    } finally {
      reader.close()
    }
  }
}
