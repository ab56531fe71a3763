import t from 'tap'
import { CoercedFields, listItemsMax } from '../../src/api/coerced-fields.ts'

type Row = readonly [given: unknown, read: unknown]
/** In place of a value: it is refused. */
const refused = Symbol('refused')

const rows: Readonly<
  Record<'string' | 'boolean' | 'integer' | 'durationMs' | 'list', readonly Row[]>
> = {
  string: [
    ['text', 'text'],
    ['', ''],
    [' kept ', ' kept '],
    [12, '12'],
    [1.5, '1.5'],
    [true, '1'],
    [false, '0'],
    [null, undefined],
    [[], refused],
    [['a'], refused],
    [{}, refused],
  ],
  boolean: [
    [true, true],
    [false, false],
    ['true', true],
    ['false', false],
    ['TRUE', true],
    ['T', true],
    ['f', false],
    [1, true],
    [0, false],
    ['1', true],
    ['0', false],
    ['', false],
    ['yes', refused],
    ['tRUE', refused],
    [[], refused],
    [{}, refused],
    [null, undefined],
  ],
  integer: [
    [7, 7],
    [-7, -7],
    ['7', 7],
    ['-7', -7],
    ['007', 7],
    ['', 0],
    [1.5, refused],
    ['1.5', refused],
    ['1e3', refused],
    ['0x10', refused],
    ['99999999999999999999', refused],
    [2 ** 53, refused],
    [true, refused],
    ['seven', refused],
    [' 7', refused],
    [[7], refused],
    [null, undefined],
  ],
  durationMs: [
    [90, 90_000],
    ['90', 90_000],
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['2.9ms', 2],
    ['1ns', 1],
    ['0ns', 0],
    [0, 0],
    ['0', 0],
    ['', 0],
    [1.5, refused],
    ['1.5', refused],
    [-1, refused],
    ['-1', refused],
    ['-1s', refused],
    ['soon', refused],
    ['1d', refused],
    [9_223_372_036, 9_223_372_036_000],
    [9_223_372_037, refused],
    [true, refused],
    [['1s'], refused],
    [{}, refused],
    [null, undefined],
  ],
  list: [
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      [' a ', 'b\t'],
      ['a', 'b'],
    ],
    ['a,b', ['a', 'b']],
    [' a , b ', ['a', 'b']],
    ['', []],
    ['  ', []],
    [[], []],
    [
      ['a,b', 'c'],
      ['a,b', 'c'],
    ],
    [
      [1, true],
      ['1', '1'],
    ],
    [5, ['5']],
    [['a', null], refused],
    [['a', ['b']], refused],
    [[{}], refused],
    [{}, refused],
    ['x,'.repeat(listItemsMax), refused],
    [Array.from({ length: listItemsMax + 1 }, () => 'x'), refused],
    [null, undefined],
  ],
}

for (const [kind, cases] of Object.entries(rows)) {
  t.test(`a member read as ${kind}`, (t) => {
    for (const [given, read] of cases) {
      const shown = JSON.stringify(given).slice(0, 60)
      const fields = new CoercedFields({ m: given }, 'config.')
      const take = () => fields[kind as keyof typeof rows]('m')
      if (read === refused) {
        t.throws(take, { code: 'invalid_argument', message: /^config\.m must be / }, shown)
      } else {
        t.same(take(), read, shown)
      }
    }
    t.equal(new CoercedFields({})[kind as keyof typeof rows]('m'), undefined)
    t.end()
  })
}

t.test('an absent body is an empty object, and a body that is none is refused', (t) => {
  for (const body of [undefined, null, {}]) t.equal(new CoercedFields(body).has('a'), false)
  for (const body of [[], 'text', 7, true]) {
    t.throws(() => new CoercedFields(body), { message: 'the request body must be a JSON object' })
  }
  t.end()
})

t.test('only own members count, and null is absent', (t) => {
  const fields = new CoercedFields(JSON.parse('{"a":1,"b":null,"__proto__":{"c":1}}'))
  t.same(
    ['a', 'b', 'c', 'toString'].map((name) => fields.has(name)),
    [true, false, false, false],
  )
  t.equal(fields.string('toString'), undefined)
  t.end()
})

t.test('a refusal never shows the value', (t) => {
  const fields = new CoercedFields({ bindpass: ['hunter2'] })
  t.throws(() => fields.string('bindpass'), { message: 'bindpass must be a string' })
  t.end()
})

t.test('an object inside is read as this one is, and its path leads the names', (t) => {
  const fields = new CoercedFields({ config: { max: '2h', wrong: {} }, text: 'x' })
  t.equal(fields.object('config')?.durationMs('max'), 7_200_000)
  t.throws(() => fields.object('config')?.string('wrong'), {
    message: 'config.wrong must be a string',
  })
  t.throws(() => fields.object('text'), { message: 'text must be a JSON object' })
  t.equal(fields.object('absent'), undefined)
  t.end()
})

t.test('pairs are texts in the order sent, under every name', (t) => {
  const fields = new CoercedFields(JSON.parse('{"meta":{"b":1,"__proto__":"p","a":null,"c":true}}'))
  t.same(fields.pairs('meta'), [
    ['b', '1'],
    ['__proto__', 'p'],
    ['c', '1'],
  ])
  t.throws(() => new CoercedFields({ meta: { a: [] } }).pairs('meta'), {
    message: 'meta must be an object of strings',
  })
  t.throws(() => new CoercedFields({ meta: 'a=b' }).pairs('meta'))
  t.equal(fields.pairs('none'), undefined)
  t.end()
})
