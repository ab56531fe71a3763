/** For how long evaluations are lent, and what proves it. */
import t from 'tap'
import { LentEvaluations } from '../../../src/domains/scheduling/lent-evaluations.ts'
import { lentMs, prolongMs } from '../../../src/domains/scheduling/model.ts'
import { manualClock } from '../../support/manual-clock.ts'

function lending() {
  const clock = manualClock()
  const lapsed: string[] = []
  const lent = new LentEvaluations(clock, (id) => lapsed.push(id))
  return { clock, lent, lapsed }
}

t.test('one that is not prolonged lapses, once', (t) => {
  const { clock, lent, lapsed } = lending()
  const token = lent.lend('a')
  clock.advance(lentMs - 1)
  t.same(lapsed, [])
  clock.advance(1_000)
  t.same(lapsed, ['a'])
  t.equal(lent.size, 0)
  t.throws(() => lent.mustHave('a', token), { code: 'conflict' })
  t.notOk(lent.end('a', token))
  clock.advance(2 * lentMs)
  t.same(lapsed, ['a'])
  lent.stop()
  t.end()
})

t.test('it lasts for as long as it is prolonged', (t) => {
  const { clock, lent, lapsed } = lending()
  const token = lent.lend('a')
  for (let waited = 0; waited < 3 * lentMs; waited += prolongMs) {
    clock.advance(prolongMs)
    t.ok(lent.prolong('a', token))
  }
  t.ok(lent.end('a', token))
  clock.advance(2 * lentMs)
  t.same(lapsed, [])
  lent.stop()
  t.end()
})

t.test('what was lent before proves nothing for the next worker', (t) => {
  const { clock, lent } = lending()
  const before = lent.lend('a')
  clock.advance(lentMs + 1_000)
  const now = lent.lend('a')
  t.notOk(lent.prolong('a', before))
  t.notOk(lent.end('a', before))
  t.throws(() => lent.mustHave('a', before), { code: 'conflict' })
  lent.mustHave('a', now)
  t.throws(() => lent.mustHave('b', now), { code: 'conflict' })
  lent.stop()
  t.end()
})
