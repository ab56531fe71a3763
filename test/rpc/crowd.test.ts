/** Whether very many blocking queries wait. */
import t from 'tap'
import { Crowd, crowdEndMs, crowdMin } from '../../src/rpc/crowd.ts'
import { manualClock } from '../support/manual-clock.ts'

t.test('a crowd lasts until it was none for a while', (t) => {
  const clock = manualClock()
  const told: boolean[] = []
  const crowd = new Crowd(clock, (crowded) => told.push(crowded))
  crowd.saw(crowdMin - 1)
  t.same(told, [], 'not yet')
  crowd.saw(crowdMin)
  crowd.saw(crowdMin + 1)
  t.same(told, [true], 'told once')
  // Those that are being answered do not wait, and come again.
  for (let round = 0; round < 3; round += 1) {
    clock.advance(crowdEndMs - 1)
    crowd.saw(crowdMin)
  }
  t.same(told, [true])
  clock.advance(crowdEndMs)
  clock.advance(crowdEndMs)
  crowd.saw(1)
  t.same(told, [true, false], 'over')
  crowd.saw(crowdMin)
  t.same(told, [true, false, true], 'another one')
  t.end()
})

t.test('it is over when queries no longer wait at all', (t) => {
  const clock = manualClock()
  const told: boolean[] = []
  const crowd = new Crowd(clock, (crowded) => told.push(crowded))
  crowd.stop()
  t.same(told, [])
  crowd.saw(crowdMin)
  crowd.stop()
  t.same(told, [true, false])
  clock.advance(crowdEndMs)
  t.same(told, [true, false], 'and nothing is left behind')
  t.end()
})
