/** Proposals whose leader is none any more: what is said of them, and when. */
import t from 'tap'
import { Proposals, type Applied } from '../../src/raft/waiters.ts'
import { manualClock } from '../support/manual-clock.ts'

const lingerMs = 1_000

/** What became of a promise, as text; `waits` until it is settled. */
function fateOf(proposal: Promise<Applied>): () => Promise<string> {
  let fate = 'waits'
  proposal.then(
    ({ index }) => (fate = `done at ${index}`),
    (error: unknown) => (fate = (error as { readonly code: string }).code),
  )
  return async () => {
    await new Promise(setImmediate)
    return fate
  }
}

void t.test('one that does not linger is unknown as soon as leadership ends', async (t) => {
  const proposals = new Proposals(manualClock())
  const [committed, other] = [fateOf(proposals.wait(1, 1)), fateOf(proposals.wait(2, 1))]
  proposals.orphan(1, false)
  t.same([await committed(), await other()], ['waits', 'outcome_unknown'])
  proposals.applied(1, 1, null)
  t.equal(await committed(), 'done at 1')
})

void t.test('one that lingers learns whether its entry was kept', async (t) => {
  const clock = manualClock()
  const proposals = new Proposals(clock)
  const [kept, lost, silent] = [2, 3, 4].map((index) =>
    fateOf(proposals.wait(index, 1, { lingerMs })),
  )
  proposals.orphan(1, false)
  proposals.applied(2, 1, null)
  proposals.applied(3, 2, null)
  t.same([await kept?.(), await lost?.(), await silent?.()], ['done at 2', 'not_leader', 'waits'])
  clock.advance(lingerMs)
  t.equal(await silent?.(), 'outcome_unknown')
  t.equal(proposals.size, 0)
})

void t.test('where the disk stands still it is not waited for long', async (t) => {
  const clock = manualClock()
  const proposals = new Proposals(clock)
  const stalled = fateOf(proposals.wait(2, 1, { lingerMs: 60_000 }))
  proposals.orphan(1, true)
  t.equal(await stalled(), 'waits')
  clock.advance(2_500)
  t.equal(await stalled(), 'outcome_unknown')
})

void t.test('an entry of the next leadership in its place says nothing of others', async (t) => {
  const clock = manualClock()
  const proposals = new Proposals(clock)
  const first = fateOf(proposals.wait(2, 1, { lingerMs }))
  proposals.orphan(1, false)
  const second = fateOf(proposals.wait(2, 3, { lingerMs }))
  t.same([await first(), await second()], ['outcome_unknown', 'waits'])
  clock.advance(lingerMs)
  t.equal(await second(), 'waits', 'the time of the first is not its own')
  proposals.applied(2, 3, null)
  t.equal(await second(), 'done at 2')
})

void t.test(
  'one that is not confirmed by its deadline is unknown, and may still be applied',
  async (t) => {
    const clock = manualClock()
    const proposals = new Proposals(clock)
    const soon = fateOf(proposals.wait(1, 1, { deadlineMs: clock.monotonicMs() + 1_000 }))
    const late = fateOf(proposals.wait(2, 1, { deadlineMs: clock.monotonicMs() + 5_000 }))
    const never = fateOf(proposals.wait(3, 1))
    clock.advance(999)
    t.same([await soon(), await late(), await never()], ['waits', 'waits', 'waits'])
    clock.advance(51)
    t.same([await soon(), await late(), await never()], ['outcome_unknown', 'waits', 'waits'])
    for (const index of [1, 2, 3]) proposals.applied(index, 1, null)
    t.same(
      [await soon(), await late(), await never()],
      ['outcome_unknown', 'done at 2', 'done at 3'],
    )
    clock.advance(10_000)
    t.equal(clock.timerCount, 0, 'nothing waits, so nothing looks')
  },
)

void t.test('a snapshot in the place of its entry, or a stop, ends the waiting', async (t) => {
  const proposals = new Proposals(manualClock())
  const [skipped, stopped] = [2, 3].map((index) => fateOf(proposals.wait(index, 1, { lingerMs })))
  proposals.orphan(0, false)
  proposals.skipped(2)
  t.same([await skipped?.(), await stopped?.()], ['outcome_unknown', 'waits'])
  proposals.abandonAll()
  t.equal(await stopped?.(), 'outcome_unknown')
  t.equal(proposals.size, 0)
})
