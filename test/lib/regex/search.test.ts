/** Where regular expressions match: preference, groups, and the work that hostile ones make. */
import t from 'tap'
import { Search } from '../../../src/lib/regex/search.ts'

const free = () => undefined

function texts(pattern: string, text: string): readonly (readonly (string | null)[])[] {
  return [...new Search(pattern).all(text, free)].map((found) =>
    Array.from({ length: found.length / 2 }, (_, group) => {
      const [begin = -1, end = -1] = found.slice(group * 2)
      return begin === -1 ? null : text.slice(begin, end)
    }),
  )
}

// oxfmt-ignore
const cases: readonly (readonly [string, string, readonly (readonly (string | null)[])[]])[] = [
  ['a+',             'baaba',      [['aa'], ['a']]],
  ['a+?',            'aa',         [['a'], ['a']]],
  ['(?U)a+',         'aa',         [['a'], ['a']]],
  ['(?U)a+?',        'aa',         [['aa']]],
  ['a|ab',           'ab',         [['a']]],
  ['ab|a',           'ab',         [['ab']]],
  ['(a)|(b)',        'ba',         [['b', null, 'b'], ['a', 'a', null]]],
  ['(a|ab)(c|bcd)',  'abcd',       [['abcd', 'a', 'bcd']]],
  ['(a+)(a*)',       'aaa',        [['aaa', 'aaa', '']]],
  ['(a+?)(a*)',      'aaa',        [['aaa', 'a', 'aa']]],
  ['(?:(a)|b)*',     'ab',         [['ab', 'a']]],
  ['(?P<y>\\d+)-(?<m>\\d+)', '2026-11', [['2026-11', '2026', '11']]],
  ['x*',             'axb',        [[''], ['x'], ['']]],
  ['',               'a😀',        [[''], [''], ['']]],
  ['^a',             'aa',         [['a']]],
  ['(?m)^.',         'a\nb',       [['a'], ['b']]],
  ['\\bb',           'ab b',       [['b']]],
  ['\\B.',           '😀ab',       [['😀'], ['b']]],
  ['b',              'aaa',        []],
]

for (const [pattern, text, expected] of cases) {
  t.test(`${pattern} in ${JSON.stringify(text)}`, async (t) => {
    t.same(texts(pattern, text), expected)
  })
}

t.test('finds what the native engine finds, with random small patterns', async (t) => {
  let seed = 11
  const random = (bound: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 8) % bound
  }
  const pieces = ['a', 'b', '.', '[ab]', '(a|ab)', '(?:ba)', '^', '$', '\\b']
  const operators = ['', '', '*', '+', '?', '*?', '+?', '??', '{1,2}']
  for (let round = 0; round < 800; round++) {
    let pattern = ''
    for (let part = random(4); part >= 0; part--) {
      const piece = pieces[random(pieces.length)] ?? ''
      const bare = ['^', '$', '\\b'].includes(piece)
      pattern += piece + (bare ? '' : (operators[random(operators.length)] ?? ''))
      if (random(6) === 0) pattern += '|'
    }
    const text = Array.from({ length: random(8) }, () => 'abc'[random(3)]).join('')
    const native = new RegExp(pattern).exec(text)
    const found = new Search(pattern).first(text, 0, free)
    const place = found === null ? null : [found[0], text.slice(found[0], found[1])]
    const expected = native === null ? null : [native.index, native[0]]
    if (JSON.stringify(place) !== JSON.stringify(expected)) {
      t.fail(`${pattern} on ${text}: ${JSON.stringify(place)}, not ${JSON.stringify(expected)}`)
      break
    }
  }
})

t.test('hostile patterns stay linear, and say what they cost', async (t) => {
  const text = `${'a'.repeat(1_000)}!`
  for (const pattern of ['(a+)+$', '^(a|a)*$', '^(a|aa)+$', '([a-z]+)*x', '^(a?){50}a{50}$']) {
    let states = 0
    const search = new Search(pattern)
    t.equal(
      search.first(text, 0, (count) => (states += count)),
      null,
      pattern,
    )
    t.ok(states > 0 && states <= text.length * 400, `${pattern}: ${states}`)
  }
})
