/** Delays before a failed allocation is placed anew. */
import t from 'tap'
import type { AllocationRow } from '../../src/domains/allocations/model.ts'
import { reschedulingOf, rescheduledWith } from '../../src/scheduler/reschedule.ts'
import { allocationRow, decide, id, jobSpec, nodeRow, scheduledJob } from './cluster.ts'
import { deploymentRow } from './worlds.ts'

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

t.test('one that an operator wants placed anew waits for no delay and no interval', async (t) => {
  const times = { Interval: 3_600 * secondNs, Delay: 60 * secondNs, DelayFunction: 'constant' }
  const before = { timeMs: 999_000, allocation: id(1), node: id(1), delayMs: 0 }
  const placed = (policy: object, row: Partial<AllocationRow>) =>
    decide({
      nodes: [nodeRow(1), nodeRow(2)],
      job: scheduledJob(jobSpec({}, { ReschedulePolicy: { ...times, ...policy } })),
      allocations: [
        allocationRow(0, { clientStatus: 'failed', modifyMs: 1_000_000, ...row, health: null }),
      ],
      nowMs: 1_001_000,
    }).place.map(({ allocation }) => allocation)
  const now = { rescheduleNow: true } as const
  const spent = { rescheduled: [before] }
  t.same(placed({ Unlimited: true }, {}), [])
  t.match(placed({ Unlimited: true }, now), [
    { name: 'job.web[0]', previous: id(1_000), rescheduled: [{ delayMs: 60_000 }] },
  ])
  t.same(placed({ Unlimited: false, Attempts: 1 }, spent), [])
  t.match(placed({ Unlimited: false, Attempts: 1 }, { ...now, ...spent }), [
    { rescheduled: [before, { allocation: id(1_000) }] },
  ])
  t.same(placed({ Unlimited: false, Attempts: 0 }, now), [], 'its group places nothing anew')
})

t.test('also one that failed with its deployment', async (t) => {
  const deployment = deploymentRow({
    jobVersion: 0,
    status: 'failed',
    desiredCanaries: 0,
    promoted: false,
  })
  const placed = (row: Partial<AllocationRow>) =>
    decide({
      nodes: [nodeRow(1), nodeRow(2)],
      job: scheduledJob(jobSpec({}, { Update: { MaxParallel: 1 } })),
      deployment,
      allocations: [
        allocationRow(0, { clientStatus: 'failed', deploymentId: id(800), health: null, ...row }),
      ],
    }).place.map(({ allocation }) => [allocation.previous, allocation.deploymentId])
  t.same(placed({}), [])
  t.same(placed({ rescheduleNow: true }), [[id(1_000), undefined]])
})
