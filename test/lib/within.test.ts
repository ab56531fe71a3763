import t from 'tap'
import { systemClock } from '../../src/lib/clock.ts'
import { within } from '../../src/lib/within.ts'

t.test('what comes in time comes as it is', async (t) => {
  t.equal(await within(Promise.resolve(7), systemClock, 10_000), 7)
  await t.rejects(within(Promise.reject(new Error('no')), systemClock, 10_000), { message: 'no' })
})

t.test('what does not is null, and its end is nobody’s business', async (t) => {
  const late = Promise.withResolvers<number>()
  t.equal(await within(late.promise, systemClock, 1), null)
  late.reject(new Error('unheard'))
})
