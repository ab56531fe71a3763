/** How callers share the places of what lasts. */
import t from 'tap'
import { Places, type PlaceTaker } from '../../src/rpc/places.ts'

const anonymous = (address: string): PlaceTaker => ({ accessor: null, address, operator: false })
const reader = (accessor: string, address: string): PlaceTaker => ({
  accessor,
  address,
  operator: false,
})
const operator: PlaceTaker = { accessor: 'root', address: 'a', operator: true }

function taken(places: Places, taker: PlaceTaker, most: number): number {
  let count = 0
  try {
    for (; count < most; count += 1) places.take(taker)
  } catch {
    return count
  }
  return count
}

t.test('shares, and the reserve', (t) => {
  // oxfmt-ignore
  const cases: [name: string, max: number, takers: [taker: PlaceTaker, gets: number][]][] = [
    ['callers without a token share one half',   32, [[anonymous('a'), 16], [anonymous('b'), 0]]],
    ['one token has one half, from anywhere',    32, [[reader('x', 'a'), 16], [reader('x', 'b'), 0]]],
    ['one address has one half, with any token', 32, [[reader('x', 'a'), 16], [reader('y', 'a'), 0]]],
    ['the last sixteenth is for operators',      32, [[reader('x', 'a'), 16], [reader('y', 'b'), 14], [reader('z', 'c'), 0], [operator, 2]]],
    ['an operator may have all',                 32, [[operator, 32], [reader('x', 'b'), 0]]],
    ['a single place is for anybody',             1, [[anonymous('a'), 1], [operator, 0]]],
  ]
  for (const [name, max, takers] of cases) {
    const places = new Places({ max, limit: 'limits.some_max' })
    for (const [taker, gets] of takers) t.equal(taken(places, taker, max + 1), gets, name)
  }
  t.end()
})

t.test('a refusal says whether the caller or the server is full, and names the limit', (t) => {
  const places = new Places({ max: 4, limit: 'limits.some_max' })
  taken(places, reader('x', 'a'), 2)
  t.throws(() => places.take(reader('x', 'b')), {
    code: 'rate_limited',
    message: 'one token or one address may hold 2 places: limits.some_max is 4',
  })
  taken(places, reader('y', 'b'), 2)
  t.throws(() => places.take(operator), { code: 'overloaded', message: /limits\.some_max is 4/ })
  t.end()
})

t.test('a place that is given back, once or twice, is one place', (t) => {
  const places = new Places({ max: 4, limit: 'limits.some_max' })
  const leave = places.take(reader('x', 'a'))
  places.take(reader('x', 'a'))
  leave()
  leave()
  t.equal(places.taken, 1)
  t.equal(taken(places, reader('x', 'a'), 4), 1)
  t.end()
})
