import t from 'tap'
import { machineClock, systemClock } from '../../src/lib/clock.ts'

t.test('the wall clock is not before 1970', async (t) => {
  const { now } = Date
  t.teardown(() => {
    Date.now = now
  })
  for (const [told, is] of [
    [-1_000, 0],
    [0, 0],
    [1_800_000_000_000, 1_800_000_000_000],
  ] as const) {
    Date.now = () => told
    t.equal(systemClock.wallMs(), is)
    t.equal(machineClock.wallMs(), is)
  }
})
