/** A row that is kept as it was put is what unpacking its bytes gives, whatever it holds. */
import { isDeepStrictEqual } from 'node:util'
import fc from '../support/fast-check.ts'
import t from 'tap'
import { pack, unpack } from '../../src/fsm/codec.ts'
import { keptApart, keptRow, notKept } from '../../src/fsm/kept-row.ts'

const odd = fc.constantFrom<unknown>(
  undefined,
  -0,
  NaN,
  Infinity,
  2 ** 53,
  -(2 ** 40),
  2 ** 32,
  'half \ud800',
  '\ud83d\ude00',
  1n,
  new Date(0),
  new Map([[1, 2]]),
)
const bytes = fc.uint8Array({ maxLength: 20 }).map((array) => Buffer.from(array))
const name = fc.oneof(
  fc.string(),
  fc.constantFrom('__proto__', 'constructor', 'toJSON', '7', 'hasOwnProperty', 'x\ud800'),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    bytes,
    odd,
    fc.array(tie('value'), { maxLength: 4 }),
    fc
      .array(fc.tuple(name, tie('value')), { maxLength: 6 })
      .map((members): unknown => Object.fromEntries(members)),
  ),
}))

t.test('what is kept is what would be unpacked', async (t) => {
  let kept = 0
  fc.assert(
    fc.property(value, (row) => {
      const found = keptRow(row)
      if (found === notKept) return
      kept += 1
      const read = unpack(pack(row))
      t.ok(isDeepStrictEqual(found, read), `${JSON.stringify(found)} is read back`)
      t.ok(isDeepStrictEqual(keptApart(row), read), `${JSON.stringify(found)} is copied`)
    }),
    { numRuns: 2_000 },
  )
  t.ok(kept > 500, 'most values are kept')
})

t.test('a plain row is kept as it is, and its bytes apart from the caller’s', async (t) => {
  const plain = { name: 'a', list: [1, { deep: true }], none: null }
  t.equal(keptRow(plain), plain)
  const value = Buffer.from('secret')
  const row = { name: 'a', value, list: [{ value }] }
  const kept = keptRow(row) as typeof row
  t.same(kept, row)
  t.equal(row.value, value)
  value.fill(0)
  t.equal(kept.value.toString(), 'secret')
  t.equal(kept.list[0]?.value.toString(), 'secret')
})

t.test('what is kept apart stays as it is, whatever the caller does with its own', async (t) => {
  const place = { path: '/v1/var/a/long/path/of/a/request'.slice(8) }
  const row = { place, list: [{ value: Buffer.from('secret') }], names: ['a'] }
  const kept = keptApart(row)
  const before = unpack(pack(row))
  place.path = 'other'
  row.list[0]?.value.fill(0)
  row.list.push({ value: Buffer.from('b') })
  row.names.length = 0
  t.ok(isDeepStrictEqual(kept, before))
  t.equal(keptApart({ text: '\ud800' }), notKept)
})

t.test('what costs much to copy, or is no row, is not kept', async (t) => {
  t.equal(keptRow({ value: Buffer.alloc(10_000) }), notKept)
  t.equal(keptRow({ value: undefined }), notKept)
  t.equal(keptRow({ at: new Date(0) }), notKept)
  const gap: unknown[] = []
  gap[1] = 'b'
  t.equal(keptRow(gap), notKept)
  t.equal(keptRow({ text: '\ud800' }), notKept)
})
