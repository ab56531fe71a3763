/** A text waits until it has come to rest, and not for ever. */
import t from 'tap'
import { Quiet } from '../../../src/client-agent/runner/templates/quiet.ts'
import { manualClock } from '../../support/manual-clock.ts'

const wait = { Min: 100e6, Max: 250e6 }
const template = {}

t.test('the first text is written at once, and so is one that does not change', async (t) => {
  const clock = manualClock()
  const quiet = new Quiet(clock, () => t.fail('nothing waits'))
  t.ok(quiet.isDue(template, 'a', wait))
  quiet.wrote(template, 'a')
  t.ok(quiet.isDue(template, 'a', wait))
  t.equal(clock.timerCount, 0)
})

t.test('a change waits for Min after the last one, and for Max after the first', async (t) => {
  const clock = manualClock()
  let looks = 0
  const quiet = new Quiet(clock, () => (looks += 1))
  quiet.wrote(template, 'a')
  t.notOk(quiet.isDue(template, 'b', wait))
  clock.advance(99)
  t.equal(looks, 0)
  clock.advance(1)
  t.equal(looks, 1)
  t.ok(quiet.isDue(template, 'b', wait))
  quiet.wrote(template, 'b')
  for (const text of ['c', 'd', 'e']) {
    t.notOk(quiet.isDue(template, text, wait), text)
    clock.advance(80)
  }
  t.notOk(quiet.isDue(template, 'f', wait))
  clock.advance(10)
  t.ok(quiet.isDue(template, 'g', wait), 'it has waited for long enough')
  quiet.wrote(template, 'g')
  t.notOk(quiet.isDue(template, 'h', wait), 'the next one begins anew')
  t.ok(quiet.isDue({}, 'h', wait), 'others do not wait for it')
  const years = 100 * 365 * 86_400 * 1e9
  quiet.wrote(template, 'h')
  t.notOk(quiet.isDue(template, 'i', { Min: years, Max: years }))
  const before = looks
  clock.advance(1_000)
  t.equal(looks, before, 'a long wait is no short one')
  quiet.close()
  t.equal(clock.timerCount, 0)
})
