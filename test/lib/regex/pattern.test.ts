import t from 'tap'
import { compilePattern } from '../../../src/lib/regex/pattern.ts'
import { programLengthMax } from '../../../src/lib/regex/program.ts'

void t.test('matches what RE2 matches', (t) => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['b+', 'abbbc', true],
    ['^b+', 'abbbc', false],
    ['^a.*c$', 'abbbc', true],
    ['', 'anything', true],
    ['a|b|', 'c', true],
    ['^(?:a|bc)$', 'bc', true],
    ['^(?:a|bc)$', 'b', false],
    ['(?i)HELLO', 'say hello', true],
    ['(?i:h)ELLO', 'hello', false],
    ['a(?i)b|c', 'C', true],
    ['(?i)k', '\u212a', true],
    ['(?i)\u212a', 'k', true],
    ['(?i)[^k]', 'K', false],
    ['(?i)straße', 'STRAßE', true],
    ['\\Aab\\z', 'ab', true],
    ['\\Aab\\z', 'ab\n', false],
    ['^ab$', 'x\nab\ny', false],
    ['(?m)^ab$', 'x\nab\ny', true],
    ['a.b', 'a\nb', false],
    ['(?s)a.b', 'a\nb', true],
    ['(?s-s)a.b', 'a\nb', false],
    ['\\Qa.b*\\E+', 'a.b**', true],
    ['\\Qa.b', 'axb', false],
    ['^[[:alpha:]]+[[:^digit:]]$', 'ab-', true],
    ['^\\p{Greek}+$', 'αβγ', true],
    ['^\\pL+\\PL$', 'äö1', true],
    ['^\\p{^L}$', 'a', false],
    ['^\\p{Lu}$', 'Ä', true],
    ['^[\\d\\-x]+$', '12-x', true],
    ['^[^\\D]+$', '123', true],
    ['^[]a]+$', ']a', true],
    ['^[a-]+$', 'a-', true],
    ['\\bfoo\\b', 'a foo b', true],
    ['\\bfoo\\b', 'afoo', false],
    ['\\Boo', 'foo', true],
    ['^.$', '😀', true],
    ['^[😀-😂]$', '😁', true],
    ['\\x41\\x{1F600}\\101', 'A😀A', true],
    ['a{2,3}$', 'aaa', true],
    ['^a{2}$', 'aaa', false],
    ['^a{2,}$', 'aaaa', true],
    ['^a{,2}$', 'a{,2}', true],
    ['x{', 'x{', true],
    ['^(?P<year>\\d{4})-(?<m>\\d\\d)$', '2024-05', true],
    ['^a*?b+?c??$', 'aab', true],
    ['^(a*)*$', 'aaab', false],
    ['^(|a)+$', 'aaa', true],
    ['^a{1000}$', 'a'.repeat(1000), true],
    ['^a{1000}$', 'a'.repeat(999), false],
    ['\\.\\/\\-\\_', './-_', true],
    ['^\\0\\a$', '\0\x07', true],
  ]
  for (const [pattern, text, expected] of cases) {
    t.equal(compilePattern(pattern).test(text), expected, `${pattern} on ${JSON.stringify(text)}`)
  }
  t.end()
})

void t.test('refuses what RE2 refuses, as a bad request', (t) => {
  const cases = [
    '(a)\\1',
    '(?=a)',
    '(?!a)',
    '(?<=a)b',
    '(?<!a)b',
    '*a',
    'a**',
    'a+*',
    'a{2}{3}',
    '(|*)',
    '(a',
    'a)',
    '[a',
    '[z-a]',
    '[[:nope:]]',
    '\\p{Nope}',
    '\\8',
    '\\Z',
    '\\C',
    '\\',
    'a{1001}',
    'a{3,2}',
    '(a{1000}){1000}',
    '((a{100}){10}){2}',
    '(?P<a>x)(?P<a>y)',
    '(?P<a-b>x)',
    '(?x)a',
    '(?)',
    '\\x{110000}',
    '('.repeat(101) + ')'.repeat(101),
    'a'.repeat(1001),
    `(${'[a-z]'.repeat(10)}){1000}`,
  ]
  for (const pattern of cases) {
    t.throws(() => compilePattern(pattern), { code: 'invalid_argument' }, pattern.slice(0, 40))
  }
  t.end()
})

void t.test('hostile patterns stay linear', (t) => {
  const text = `${'a'.repeat(2_000)}!`
  const evil = [
    '(a+)+$',
    '^(a|a)*$',
    '^(a|aa)+$',
    '([a-z]+)*x',
    '(.*)(.*)(.*)(.*)x',
    '^(a?){100}a{100}$',
  ]
  for (const pattern of evil) t.equal(compilePattern(pattern).test(text), false, pattern)
  const large = compilePattern('(?:(?:a?){50}){20}b')
  t.ok(large.steps <= programLengthMax)
  t.equal(large.test('a'.repeat(200)), false)
  t.end()
})

void t.test('agrees with the native engine on random small patterns', (t) => {
  let seed = 7
  const random = (bound: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0
    return (seed >>> 8) % bound
  }
  const pieces = ['a', 'b', '.', '[ab]', '[^a]', '(a|b)', '(?:ab)', '^', '$', '\\b', '\\w']
  const operators = ['', '', '*', '+', '?', '{2}', '{1,2}']
  for (let round = 0; round < 2_000; round++) {
    let pattern = ''
    for (let part = random(4); part >= 0; part--) {
      const piece = pieces[random(pieces.length)] ?? ''
      const bare = ['^', '$', '\\b'].includes(piece)
      pattern += piece + (bare ? '' : (operators[random(operators.length)] ?? ''))
      if (random(5) === 0) pattern += '|'
    }
    const text = Array.from({ length: random(7) }, () => 'abc-'[random(4)]).join('')
    const expected = new RegExp(pattern).test(text)
    if (compilePattern(pattern).test(text) !== expected) {
      t.fail(`${pattern} on ${text}: expected ${expected}`)
      break
    }
  }
  t.end()
})
