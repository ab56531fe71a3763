/** What the leader does while there are marks (`fsm/reactions.ts`): it has the rest of what they stand for written. */
import { continueCascades, hasMarks, marksVersion } from '../fsm/fact.ts'
import { periodic, type Running } from '../lib/periodic.ts'
import type { DutyContext } from './duty.ts'

/** Readers honour marks: nobody waits for this. */
const lookEveryMs = 200
/** Rows of one entry: some ten milliseconds of each server. */
const rowsMax = 256
/** Between two entries: at least so long, and so many times as long as the entry took. Writes of clients go first. */
const entryPauseMs = 20
const entryPauseFactor = 2
const retryMs = 1_000

/** Leader only: started on election, stopped when leadership is lost. */
export function startCascadeDuty(context: DutyContext): Running {
  const { view, propose, clock } = context
  return periodic({
    ...context,
    failure: 'what follows from an earlier entry could not be written yet',
    everyMs: lookEveryMs,
    retryMs,
    round: async () => {
      const reader = view()
      const isOpen = reader.commandVersion >= marksVersion && hasMarks(reader)
      reader.close()
      if (!isOpen) return lookEveryMs
      const beginMs = clock.monotonicMs()
      await propose(continueCascades, { rowsMax })
      return Math.max(entryPauseMs, entryPauseFactor * (clock.monotonicMs() - beginMs))
    },
  })
}
