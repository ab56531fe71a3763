/** What the leader does while there are marks (`fsm/reactions.ts`): it has the rest of what they stand for written. */
import { continueCascades, hasMarks, marksVersion } from '../../fsm/fact.ts'
import { periodic, type Running } from '../../lib/periodic.ts'
import type { DutyContext } from '../duty.ts'
import { onView } from '../host.ts'

/** Readers honour marks: nobody waits for this. */
const lookEveryMs = 500
/** Rows of one entry: some ten milliseconds of each server. */
const rowsMax = 256
/** Between two entries: at least so long, and so many times as long as the entry took. Writes of clients go first. */
const entryPauseMs = 20
const entryPauseFactor = 2
const retryMs = 1_000

/** Leader only: started on election, stopped when leadership is lost. */
export function startCascadeDuty(context: DutyContext): Running {
  const { view, propose, clock, log } = context
  let entries = 0
  let sinceMs = 0
  return periodic({
    ...context,
    failure: 'what follows from an earlier entry could not be written yet',
    everyMs: lookEveryMs,
    retryMs,
    round: async () => {
      const isOpen = onView(
        view,
        (reader) => reader.commandVersion >= marksVersion && hasMarks(reader),
      )
      if (!isOpen) return lookEveryMs
      const beginMs = clock.monotonicMs()
      if (entries === 0) sinceMs = beginMs
      const { outcome } = await propose(continueCascades, { rowsMax })
      entries += 1
      if (!outcome.open) {
        const ms = Math.round(clock.monotonicMs() - sinceMs)
        log.info('what followed from an earlier entry is written', { entries, ms })
        entries = 0
      }
      return Math.max(entryPauseMs, entryPauseFactor * (clock.monotonicMs() - beginMs))
    },
  })
}
