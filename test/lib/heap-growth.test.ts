/** How much old garbage V8 lets lie. */
import { getHeapSpaceStatistics } from 'node:v8'
import t from 'tap'
import { HeapGrowth } from '../../src/lib/heap-growth.ts'

const records = 500_000

/** The most that the old space held while all of `records` were replaced again and again, each long after it was made. */
function mostOldMiB(rounds: number): number {
  const held = Array.from({ length: records }, (_, n) => ({ n, more: [n, n, n] }))
  let most = 0
  for (let round = 0; round < rounds; round += 1) {
    for (let n = 0; n < records; n += 1) {
      held[n] = { n, more: [round, round, round] }
      if (n % 10_000 === 0) most = Math.max(most, oldMiB())
    }
  }
  return held.length === records ? most : NaN
}

function oldMiB(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
  return (old?.space_used_size ?? NaN) / 2 ** 20
}

/** V8 collects when it sees fit: of some measurements one is as far as it goes. */
function measured(): readonly number[] {
  return [1, 2, 3].map(() => mostOldMiB(8))
}

void t.test('bounded, less old garbage lies about', async (t) => {
  mostOldMiB(5)
  const free = Math.max(...measured())
  const growth = new HeapGrowth()
  growth.boundFor('test', true)
  mostOldMiB(20)
  const bounded = Math.min(...measured())
  growth.boundFor('test', false)
  mostOldMiB(20)
  const usual = Math.max(...measured())
  t.comment(`${free} MiB as V8 sees fit, ${bounded} bounded, ${usual} as usual`)
  t.ok(bounded < free * 0.8, 'less than as V8 sees fit')
  t.ok(usual > bounded * 1.05, 'and it is bounded no more afterwards')
})

void t.test('it is bounded for as long as anyone needs it to be', async (t) => {
  const told: boolean[] = []
  const growth = new HeapGrowth((bounded) => void told.push(bounded))
  growth.boundFor('one', false)
  growth.boundFor('one', true)
  growth.boundFor('one', true)
  growth.boundFor('other', true)
  growth.boundFor('one', false)
  t.same(told, [true], 'once, and still')
  growth.boundFor('other', false)
  t.same(told, [true, false])
})
