/** While a server has a program that could not read today's plans none is made, and no evaluation is lost by that. */
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { settledWorkloadsVersion } from '../../../src/domains/evaluations/model.ts'
import { driver } from '../../scheduler/cluster.ts'
import { eventuallyTrue } from '../../support/eventually.ts'
import { Borrower } from './borrower.ts'
import { scheduled } from './scheduled.ts'

/** Looks and questions come each second. */
const somewhatMs = 2_500
const raise = { type: 'state.raiseVersion', args: { version: settledWorkloadsVersion } }

t.test('what waits is worked on once every server can read it', async (t) => {
  const here = await scheduled(t, settledWorkloadsVersion - 1)
  await here.state.node(1, { drivers: [driver('mock_driver')] })
  const { evaluation } = await here.state.plant('job')
  const duty = here.start()
  t.teardown(() => duty.stop())
  const proposed: string[] = []
  here.onPropose = ({ type }) => void proposed.push(type)
  await delay(somewhatMs)
  t.same(proposed, [])
  const lender = here.lending.lender
  const all = { types: ['service'], max: 16, waitMs: 0 }
  t.same((await lender?.lend(all, new AbortController().signal))?.evaluations, [])
  t.match(here.state.evaluation(evaluation), { status: 'pending' })
  await here.propose(raise)
  await eventuallyTrue(
    'it is complete',
    async () => here.state.evaluation(evaluation)?.status === 'complete',
  )
  t.equal((await here.live()).length, 1)
})

t.test('a leader whose program may be older is not asked for work', async (t) => {
  const here = await scheduled(t, settledWorkloadsVersion - 1)
  const borrower = new Borrower(here)
  const asked: string[] = []
  borrower.onAsk = (method) => void asked.push(method)
  borrower.start()
  t.teardown(() => borrower.stop())
  await delay(somewhatMs)
  t.same(asked, [])
  await here.propose(raise)
  await eventuallyTrue('it is asked', async () => asked.includes('scheduling.lend'))
})
