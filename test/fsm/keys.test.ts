/** The order of encoded keys against a plain comparison of their parts, and ranges at their edges. */
import fc from '../support/fast-check.ts'
import t from 'tap'
import type { Key } from '../../src/fsm/domain.ts'
import {
  compareEncoded,
  encodeKey,
  encodeRangePrefix,
  endOfPrefix,
  generationOf,
  generationPrefix,
} from '../../src/fsm/keys.ts'

/** Part by part, strings by their UTF-8 bytes: slow, and plainly right. */
function compareParts(left: Key, right: Key): number {
  for (const [position, part] of left.entries()) {
    const other = right[position]
    if (other === undefined) return 1
    const order =
      typeof part === 'number' && typeof other === 'number'
        ? part - other
        : Buffer.compare(Buffer.from(String(part)), Buffer.from(String(other)))
    if (order !== 0) return order
  }
  return left.length - right.length
}

const text = fc.string({
  unit: fc.constantFrom(
    '\x00',
    '\x01',
    '\x02',
    'a',
    'b',
    '/',
    'é',
    '\uFFFD',
    '\uE000',
    '\u{1F600}',
    '\x7F',
  ),
  maxLength: 5,
})
const number = fc.oneof(
  fc.integer({ min: 0, max: 3 }),
  fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }),
  fc.constantFrom(127, 128, 2 ** 28 - 1, 2 ** 28, 2 ** 35, Number.MAX_SAFE_INTEGER),
)

/** Two keys of one shape: parts never mix types in one place. */
const twoKeys = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }).chain((shape) => {
  const key = fc
    .tuple(...shape.map((isNumber) => (isNumber ? number : text)))
    .chain((parts) => fc.integer({ min: 1, max: parts.length }).map((most) => parts.slice(0, most)))
  return fc.tuple(key, key)
})

t.test('encoded keys are in the order of their parts, in bytes and by comparison', async (t) => {
  const seed = 20_261_121
  t.comment(`seed ${seed}`)
  fc.assert(
    fc.property(twoKeys, ([left, right]) => {
      const wanted = Math.sign(compareParts(left, right))
      const [one, two] = [encodeKey(left), encodeKey(right)]
      const bytes = Buffer.compare(Buffer.from(one), Buffer.from(two))
      return bytes === wanted && Math.sign(compareEncoded(one, two)) === wanted
    }),
    { seed, numRuns: 3000 },
  )
})

t.test(
  'an encoded front is the prefix of exactly the keys with these parts in front',
  async (t) => {
    const seed = 7
    t.comment(`seed ${seed}`)
    fc.assert(
      fc.property(twoKeys, ([front, key]) => {
        const starts = front.every((part, position) => part === key[position])
        return encodeKey(key).startsWith(encodeKey(front)) === starts
      }),
      { seed, numRuns: 3000 },
    )
  },
)

t.test('startsWith takes strings by their characters', async (t) => {
  const inRange = (startsWith: string, part: string) => {
    const prefix = encodeRangePrefix({ prefix: ['n'], startsWith })
    const key = Buffer.from(encodeKey(['n', part]))
    return key.compare(Buffer.from(prefix)) >= 0 && key.compare(endOfPrefix(prefix)) < 0
  }
  const cases: [startsWith: string, part: string, wanted: boolean][] = [
    ['', '', true],
    ['', '\u{10FFFF}', true],
    ['a', 'a', true],
    ['a', 'ab', true],
    ['a', 'a\x00', true],
    ['a', 'b', false],
    ['ab', 'a', false],
    ['a\x00', 'a', false],
    ['a\x00', 'a\x00b', true],
    ['\x00', '', false],
    ['é', 'éa', true],
  ]
  for (const [startsWith, part, wanted] of cases) {
    t.equal(inRange(startsWith, part), wanted, JSON.stringify([startsWith, part]))
  }
})

t.test('numbers that have no place in a key are refused', async (t) => {
  for (const value of [-1, 0.5, Number.NaN, 2 ** 53]) {
    t.throws(() => encodeKey([value]), { name: 'AssertionError' })
  }
})

t.test('generations keep their order and can be read back', async (t) => {
  let last = ''
  for (const generation of [0, 1, 127, 128, 300, 16_384, 2 ** 28 - 1]) {
    const prefix = generationPrefix(generation)
    t.equal(generationOf(prefix), generation)
    t.ok(prefix > last)
    last = prefix
  }
})
