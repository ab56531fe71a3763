/** Ages as lists show them. */
import t from 'tap'
import { agoOf, fromNow } from '../../src/cli/print/ago.ts'

// How long ago, in milliseconds, and how it is written.
const cases: readonly (readonly [number, string])[] = [
  [-5_000, '0s ago'],
  [0, '0s ago'],
  [999, '0s ago'],
  [59_999, '59s ago'],
  [60_000, '1m ago'],
  [192_000, '3m12s ago'],
  [3_605_000, '1h ago'],
  [7_380_000, '2h3m ago'],
  [93_600_000, '1d2h ago'],
  [400 * 86_400_000, '400d ago'],
]

for (const [ms, expected] of cases) {
  t.equal(agoOf(1_700_000_000_000 - ms, 1_700_000_000_000), expected, `${ms} ms`)
}

t.equal(fromNow(1_700_000_000_001, 1_700_000_000_000), '1s from now')
t.equal(fromNow(1_700_000_305_000, 1_700_000_000_000), '5m5s from now')
t.equal(fromNow(1_700_000_000_000, 1_700_000_000_001), '0s from now')
