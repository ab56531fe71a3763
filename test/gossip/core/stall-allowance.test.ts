import t from 'tap'
import { makeUpFor, stallAllowanceOf } from '../../../src/gossip/core/stall-allowance.ts'
import { addressOf, Lab, suspect } from './lab.ts'

void t.test('short stops together add one wait, long ones what they took', (t) => {
  const patience = stallAllowanceOf(1_000)
  // stop, granted
  const table = [
    [300, 300],
    [600, 600],
    [5_000, 5_000],
    [300, 100],
    [300, 0],
    [999, 0],
    [1_000, 1_000],
  ] as const
  for (const [stopMs, granted] of table) t.equal(makeUpFor(patience, stopMs), granted)
  t.end()
})

/** Each stop comes just when the member wants to do something. */
function stopAtEachDeadline(lab: Lab, stopMs: number, untilMs: number): void {
  while (lab.now < untilMs && lab.happened('member-failed').length === 0) {
    lab.now = Math.max(lab.now, lab.core.nextDeadline) + stopMs
    lab.command((core, now) => core.tick(now))
  }
}

void t.test('a process that is held up again and again still sees the dead', (t) => {
  for (const stopMs of [260, 400, 800, 999]) {
    const lab = Lab.with(['a'])
    lab.hear(suspect('a', 'b'), addressOf('b'))
    stopAtEachDeadline(lab, stopMs, 60_000)
    t.equal(lab.status('a'), 'failed', `stops of ${stopMs} ms`)
    t.ok(lab.now <= 2 * 4_000 + 2 * stopMs, 'a suspicion becomes twice as long at most')
  }
  t.end()
})

void t.test('only a stop that may have made an answer late counts against the own health', (t) => {
  for (const [stopMs, score] of [
    [400, 0],
    [600, 1],
  ] as const) {
    const lab = Lab.with(['a'])
    lab.now = lab.core.nextDeadline + stopMs
    lab.command((core, now) => core.tick(now))
    t.equal(lab.happened('held-up').length, 1)
    t.equal(lab.core.healthScore, score)
  }
  t.end()
})
