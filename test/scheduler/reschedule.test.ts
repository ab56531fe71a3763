/** Delays before a failed allocation is placed anew. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import { reschedulingOf, rescheduledWith } from '../../src/scheduler/reschedule.ts'

const secondNs = 1e9

/** In seconds, of allocations that ran for so many seconds, each in the place of the one before. */
function delays(DelayFunction: 'exponential' | 'fibonacci', ran: readonly number[]) {
  const policy = {
    Attempts: 0,
    Interval: 0,
    Delay: 5 * secondNs,
    DelayFunction,
    MaxDelay: 60 * secondNs,
    Unlimited: true,
  }
  let nowMs = 0
  let rescheduled: AllocationRow['rescheduled'] = []
  return ran.map((seconds) => {
    const createMs = nowMs
    nowMs += seconds * 1_000
    const failed = { tasks: [], createMs, modifyMs: nowMs, rescheduled }
    const found = reschedulingOf(failed, policy, nowMs)
    const timeMs = found.type === 'at' ? found.timeMs : nowMs
    const delayMs = timeMs - nowMs
    nowMs = timeMs
    rescheduled = rescheduledWith({ id: 'x', nodeId: 'n', rescheduled }, { nowMs, delayMs })
    return delayMs / 1_000
  })
}

t.test('a delay grows up to the longest, and from the first again after a long run', async (t) => {
  const ran = [1, 1, 1, 1, 1, 1, 1, 1, 100, 1, 1, 1, 1]
  t.same(delays('fibonacci', ran), [5, 5, 10, 15, 25, 40, 60, 60, 5, 5, 10, 15, 25])
  t.same(delays('exponential', ran), [5, 10, 20, 40, 60, 60, 60, 60, 5, 10, 20, 40, 60])
})
