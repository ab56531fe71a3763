/** What comes at once, what comes steadily, and what a bucket does with a rate that changes. */
import t from 'tap'
import { fullBucket, takeToken, TokenBuckets } from '../../src/lib/token-bucket.ts'
import { manualClock } from '../support/manual-clock.ts'

const rate = { perSecond: 4, burst: 3 }

t.test('a full bucket gives its burst at once, and then as much as flows in', async (t) => {
  const bucket = fullBucket(rate, 1_000)
  const taken = [1_000, 1_000, 1_000].map((atMs) => takeToken(bucket, rate, atMs))
  t.same(taken, [0, 0, 0])
  t.equal(takeToken(bucket, rate, 1_000), 0.25)
  t.equal(takeToken(bucket, rate, 1_100), 0.15)
  t.equal(takeToken(bucket, rate, 1_250), 0)
  t.equal(takeToken(bucket, rate, 1_250), 0.25)
})

t.test('a rest fills it to its burst and no further', async (t) => {
  const bucket = fullBucket(rate, 0)
  takeToken(bucket, rate, 0)
  const taken = Array.from({ length: 4 }, () => takeToken(bucket, rate, 60_000))
  t.same(taken, [0, 0, 0, 0.25])
})

t.test('a burst that has become smaller holds at once', async (t) => {
  const bucket = fullBucket({ perSecond: 4, burst: 100 }, 0)
  t.equal(takeToken(bucket, { perSecond: 4, burst: 1 }, 0), 0)
  t.equal(takeToken(bucket, { perSecond: 4, burst: 1 }, 0), 0.25)
})

t.test(
  'each key has a bucket of its own, and one that was not asked for long has a full one',
  async (t) => {
    const clock = manualClock()
    const buckets = new TokenBuckets({ perSecond: 1, burst: 2 }, 2, clock)
    t.same([buckets.take('a'), buckets.take('a'), buckets.take('a')], [0, 0, 1])
    t.equal(buckets.take('b', 2), 0)
    clock.advance(1_000)
    t.same([buckets.take('a'), buckets.take('b', 2)], [0, 1])
    buckets.take('c')
    t.equal(buckets.take('a', 2), 0, 'it was forgotten')
  },
)
