import t from 'tap'
import { isServerName } from '../../src/lib/server-name.ts'

const cases: readonly (readonly [name: string, isOne: boolean])[] = [
  ['a', true],
  ['s1.dc1_b-2', true],
  ['a'.repeat(63), true],
  ['a'.repeat(64), false],
  ['', false],
  ['-a', false],
  ['a.', false],
  ['a b', false],
  ['a\n', false],
]

void t.test('a name begins and ends with a letter or digit, and has 63 characters at most', (t) => {
  for (const [name, isOne] of cases) t.equal(isServerName(name), isOne, JSON.stringify(name))
  t.end()
})
