import { getHeapSpaceStatistics } from 'node:v8'
import t from 'tap'
import { ChurnMap } from '../../src/lib/churn-map.ts'

void t.test('it holds what was set and not taken', async (t) => {
  const map = new ChurnMap<string, { readonly n: number }>()
  map.set('a', { n: 1 })
  map.set('b', { n: 2 })
  map.set('a', { n: 3 })
  t.equal(map.size, 2)
  t.same(map.get('a'), { n: 3 })
  t.same(map.take('a'), { n: 3 })
  t.equal(map.take('a'), undefined)
  t.notOk(map.has('a'))
  t.same([...map.entries()], [['b', { n: 2 }]])
  t.same([...map.keys()], ['b'])
})

void t.test('entries may go while it is iterated', async (t) => {
  const map = new ChurnMap<number, { readonly n: number }>()
  for (let n = 0; n < 100; n += 1) map.set(n, { n })
  const met: number[] = []
  for (const [key] of map.entries()) {
    met.push(key)
    map.take(key)
    map.take(key + 1)
  }
  t.same(
    met,
    Array.from({ length: 50 }, (_, half) => half * 2),
  )
  t.equal(map.size, 0)
})

void t.test(
  'what is gone from it does not keep what came later from the young collector',
  async (t) => {
    const map = new ChurnMap<number, { readonly held: readonly number[] }>()
    map.set(-1, { held: [] })
    const allocate = () => Array.from({ length: 400 }, (_, n) => n)
    // Long enough at rest for the map and its table to grow old.
    for (let n = 0; n < 100_000; n += 1) allocate()
    const before = oldBytes()
    let most = before
    let key = 0
    for (let round = 0; round < 2_000; round += 1) {
      for (let n = 0; n < 64; n += 1) map.set(key + n, { held: allocate() })
      for (let n = 0; n < 64; n += 1) map.take(key + n)
      key += 64
      if (round % 20 === 0) most = Math.max(most, oldBytes())
    }
    const grown = most - before
    t.ok(grown < grownBytesMax, `${grown} bytes grew old of the 400 million that came and went`)
  },
)

/** In a plain map 200 million grow old before a full collection takes them. */
const grownBytesMax = 80_000_000

function oldBytes(): number {
  const old = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')
  if (old === undefined) throw new Error('V8 has no old space')
  return old.space_used_size
}
