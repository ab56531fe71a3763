import t from 'tap'
import { randomInteger, seededRandom } from '../../../src/lib/random.ts'
import { TermRuns } from '../../../src/raft/core/term-runs.ts'

t.test('terms are found by index, before the first run none is', async (t) => {
  const runs = new TermRuns([
    { term: 2, firstIndex: 5 },
    { term: 4, firstIndex: 8 },
  ])
  t.strictSame(
    [4, 5, 7, 8, 100].map((index) => runs.termAt(index)),
    [undefined, 2, 2, 4, 4],
  )
  t.strictSame(
    [4, 5, 7, 8, 100].map((index) => runs.startOf(index)),
    [undefined, 5, 5, 8, 8],
  )
  t.throws(() => runs.append(101, 3), { message: /terms never fall/ })
})

t.test(
  'a compaction leaves the part of a run that is kept, and of what is gone nothing',
  async (t) => {
    const three = () =>
      new TermRuns([
        { term: 1, firstIndex: 1 },
        { term: 2, firstIndex: 4 },
        { term: 3, firstIndex: 6 },
      ])
    const after = (from: number, lastIndex: number) => {
      const runs = three()
      runs.compact(from, lastIndex)
      return runs.list().map(({ term, firstIndex }) => [term, firstIndex])
    }
    t.strictSame(after(2, 9), [
      [1, 2],
      [2, 4],
      [3, 6],
    ])
    t.strictSame(after(4, 9), [
      [2, 4],
      [3, 6],
    ])
    t.strictSame(after(5, 9), [
      [2, 5],
      [3, 6],
    ])
    t.strictSame(after(9, 9), [[3, 9]])
    t.strictSame(after(10, 9), [])
  },
)

t.test('whatever is done to it, it says what a list of terms says', async (t) => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed)
    const runs = new TermRuns([])
    const terms = new Map<number, number>()
    let [first, last, term] = [1, 0, 1]
    for (let step = 0; step < 60; step += 1) {
      const what = randomInteger(random, 0, 10)
      if (what === 0 && last >= first) {
        const from = randomInteger(random, first, last + 1)
        runs.truncate(from)
        for (let index = from; index <= last; index += 1) terms.delete(index)
        last = from - 1
      } else if (what === 1) {
        const from = randomInteger(random, first, last + 2)
        runs.compact(from, last)
        for (let index = first; index < from; index += 1) terms.delete(index)
        first = from
      } else {
        if (what < 4) term += 1
        last += 1
        runs.append(last, term)
        terms.set(last, term)
      }
      const isSame = Array.from({ length: last - first + 1 }, (_, at) => first + at).every(
        (index) => runs.termAt(index) === terms.get(index),
      )
      const starts = runs.list().map(({ firstIndex }) => firstIndex)
      const whole = last < first ? starts.length === 0 : starts[0] === first
      if (!isSame || !whole || runs.termAt(first - 1) !== undefined) {
        t.fail(`seed ${seed}, step ${step}`)
        return
      }
    }
  }
  t.pass('200 seeds')
})
