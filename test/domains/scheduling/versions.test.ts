/** While a server has a program that could not read today's plans none is made, and no evaluation is lost by that. */
import t from 'tap'
import { settledWorkloadsVersion } from '../../../src/domains/evaluations/model.ts'
import { driver } from '../../scheduler/cluster.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { manualClock } from '../../support/manual-clock.ts'
import { Borrower } from './borrower.ts'
import { scheduled } from './scheduled.ts'

/** Enough for some looks and questions, which come each second. */
const viewsMin = 6
const stepMs = 500
const raise = { type: 'state.raiseVersion', args: { version: settledWorkloadsVersion } }

t.test('what waits is worked on once every server can read it', async (t) => {
  const here = await scheduled(t, settledWorkloadsVersion - 1)
  await here.state.node(1, { drivers: [driver('mock_driver')] })
  const { evaluation } = await here.state.plant('job')
  const clock = manualClock()
  const duty = here.start(clock)
  t.teardown(() => duty.stop())
  const proposed: string[] = []
  here.onPropose = ({ type }) => void proposed.push(type)
  await eventuallyTrue('it looked', () => {
    clock.advance(stepMs)
    return here.views >= viewsMin
  })
  t.same(proposed, [])
  const lender = here.lending.lender
  const all = { types: ['service'], max: 16, waitMs: 0 }
  t.same((await lender?.lend(all, new AbortController().signal))?.evaluations, [])
  t.match(here.state.evaluation(evaluation), { status: 'pending' })
  await here.propose(raise)
  await eventuallyTrue('it is complete', () => {
    clock.advance(stepMs)
    return here.state.evaluation(evaluation)?.status === 'complete'
  })
  t.equal((await here.live()).length, 1)
})

t.test('a leader whose program may be older is not asked for work', async (t) => {
  const here = await scheduled(t, settledWorkloadsVersion - 1)
  const clock = manualClock()
  const borrower = new Borrower(here, clock)
  const asked: string[] = []
  borrower.onAsk = (method) => void asked.push(method)
  borrower.start()
  t.teardown(() => borrower.stop())
  await eventuallyTrue('it looked', () => {
    clock.advance(stepMs)
    return borrower.views >= viewsMin
  })
  t.same(asked, [])
  await here.propose(raise)
  await eventuallyTrue('it is asked', () => {
    clock.advance(stepMs)
    return asked.includes('scheduling.lend')
  })
})
