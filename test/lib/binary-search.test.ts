import t from 'tap'
import { firstWhere } from '../../src/lib/binary-search.ts'

t.test('the first number from which on it holds, wherever that is', async (t) => {
  for (let low = 0; low <= 3; low += 1) {
    for (let high = low; high <= low + 9; high += 1) {
      for (let first = low; first <= high; first += 1) {
        const found = firstWhere(low, high, (at) => {
          t.ok(at >= low && at < high)
          return at >= first
        })
        t.equal(found, first)
      }
    }
  }
})
