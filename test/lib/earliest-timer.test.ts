/** One timer for many deadlines. */
import t from 'tap'
import { EarliestTimer } from '../../src/lib/earliest-timer.ts'
import { manualClock } from '../support/manual-clock.ts'

t.test('it fires at the earliest deadline, and then at the one that is left', async (t) => {
  const clock = manualClock()
  const due = [50, 200]
  const looks: number[] = []
  const timer = new EarliestTimer(clock, (nowMs) => {
    looks.push(nowMs)
    return Math.min(Infinity, ...due.filter((ms) => ms > nowMs))
  })
  timer.by(200)
  timer.by(50)
  timer.by(120)
  t.equal(clock.timerCount, 1, 'one timer, however many deadlines')
  clock.advance(49)
  t.same(looks, [])
  clock.advance(1)
  t.same(looks, [50])
  clock.advance(149)
  t.same(looks, [50], 'what came and went costs nothing')
  clock.advance(1)
  t.same(looks, [50, 200])
  t.equal(clock.timerCount, 0, 'nothing is left')
})

t.test('very many calls that come and go set few timers', async (t) => {
  const clock = manualClock()
  let set = 0
  const counting = {
    ...clock,
    setTimer: (ms: number, run: () => void) => (set++, clock.setTimer(ms, run)),
  }
  let latestMs = 0
  const timer = new EarliestTimer(counting, () => latestMs)
  for (let call = 0; call < 10_000; call += 1) {
    latestMs = clock.monotonicMs() + 30_000
    timer.by(latestMs)
    clock.advance(10)
  }
  t.ok(set <= 5, `${set} timers`)
})

t.test('cancelled, it is silent until it is told of another deadline', async (t) => {
  const clock = manualClock()
  let looks = 0
  const timer = new EarliestTimer(clock, () => {
    looks += 1
    return Infinity
  })
  timer.by(10)
  timer.cancel()
  clock.advance(20)
  t.equal(looks, 0)
  timer.by(20)
  clock.advance(0)
  t.equal(looks, 1, 'one that is over already fires at once')
  timer.by(Infinity)
  t.equal(clock.timerCount, 0)
})
