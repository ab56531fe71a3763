/** What the leader does for keys: the marks of old deletions and lock delays that are over go, a batch at a time. */
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'
import type { DelayClock } from './delay-clock.ts'
import {
  reapKeys,
  reapMarks,
  reapedRows,
  reapedRowsMax,
  type ReapKeys,
  type ReapMarks,
} from './commands.ts'
import { judgedDelaysVersion, tombstoneKeptMs } from './model.ts'
import { hasLeftovers, marksBeyondMax } from './queries.ts'

/** Marks of single keys are kept for `tombstoneKeptMs` and up to this much longer. */
export const reapEveryMs = 60_000
/** A lock delay that is over is kept this long: another leader's clock may be behind. */
export const delayKeptMs = 60_000
/** Between two batches: at least so long, and so many times as long as the batch took. Writes of clients go first. */
const batchPauseMs = 20
const batchPauseFactor = 2

type KvDutyContext = DutyContext & { readonly delays: DelayClock }

/** Leader only: started on election, stopped when leadership is lost. */
export function startKvDuties(context: KvDutyContext): Running {
  return periodic({
    ...context,
    failure: 'marks of deleted keys could not be removed yet',
    firstMs: reapEveryMs,
    everyMs: reapEveryMs,
    retryMs: reapEveryMs,
    round: async () => {
      const beginMs = context.clock.monotonicMs()
      if (!(await reap(context))) return reapEveryMs
      return Math.max(batchPauseMs, batchPauseFactor * (context.clock.monotonicMs() - beginMs))
    },
  })
}

/** Whether there is more to remove. */
async function reap({ clock, propose, view, delays }: KvDutyContext): Promise<boolean> {
  const nowMs = Math.floor(clock.wallMs())
  return onView(view, async (reader) => {
    const args: ReapKeys = {
      tombstonesBeforeMs: Math.max(0, nowMs - tombstoneKeptMs),
      delaysBeforeMs: Math.max(0, nowMs - delayKeptMs),
      ...(reader.commandVersion >= judgedDelaysVersion && { delaysUpTo: delays.overIndex }),
    }
    let more = false
    if (await hasLeftovers(reader, args)) {
      const { outcome } = await propose(reapKeys, args)
      more = outcome.removed >= reapedRows
    }
    // Writes of a cluster with older servers leave none of these.
    const marks = [...(await marksBeyondMax(reader, args.tombstonesBeforeMs))]
    if (marks.length > 0) {
      await propose(reapMarks, { marks } satisfies ReapMarks)
    }
    return more || marks.length >= reapedRowsMax
  })
}
