import t from 'tap'
import { parseUnsigned } from '../../src/lib/unsigned.ts'

const cases: readonly (readonly [text: string, value: bigint | undefined])[] = [
  ['0', 0n],
  ['007', 7n],
  ['18446744073709551615', 2n ** 64n - 1n],
  ['18446744073709551616', undefined],
  ['000000000000000000001', undefined],
  ['', undefined],
  ['-1', undefined],
  ['+1', undefined],
  ['1 ', undefined],
  ['1.0', undefined],
  ['0x1', undefined],
]

void t.test('an unsigned number of 64 bits is digits alone, 20 at most', (t) => {
  for (const [text, value] of cases) t.equal(parseUnsigned(text), value, JSON.stringify(text))
  t.end()
})
