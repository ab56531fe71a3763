import t from 'tap'
import { matchesPattern, patternWorkMax } from '../../src/gossip/pattern.ts'
import { encodeFilter, passesFilters, patternsMax } from '../../src/gossip/wire/filters.ts'
import { memberStatesMax } from '../../src/lib/regex/member-pattern.ts'

const web = { name: 'one', tags: new Map([['role', 'web']]) }

void t.test('a pattern matches anywhere, in the syntax of RE2', (t) => {
  t.ok(matchesPattern('^we', 'web'))
  t.notOk(matchesPattern('^b', 'web'))
  t.ok(matchesPattern('(?i)^WEB$', 'web'))
  t.ok(matchesPattern('^[a-z]{1,20}$', 'web'))
  t.notOk(matchesPattern('^(a+)+$', `${'a'.repeat(1000)}b`))
  t.end()
})

void t.test('what RE2 refuses is refused, and what is too much work', (t) => {
  const refused = { code: 'invalid_argument' }
  t.throws(() => matchesPattern(String.raw`(a)\1`, 'aa'), refused)
  t.throws(() => matchesPattern('(', 'a'), refused)
  t.throws(() => matchesPattern('a'.repeat(2_000), 'a'), refused)
  t.ok(matchesPattern('a{200}|b', 'b'))
  t.throws(() => matchesPattern('a{200}|b', 'b'.repeat(patternWorkMax / 200)), refused)
  t.throws(() => matchesPattern(`a{${memberStatesMax}}`, 'b'), refused)
  t.end()
})

void t.test('a query with a refused pattern, or with too many, passes nobody', (t) => {
  const filter = (pattern: string) => encodeFilter({ type: 'tag', tag: 'role', pattern })
  const passes = (patterns: readonly string[]): boolean =>
    passesFilters(patterns.map(filter), web, matchesPattern)
  const fitting = Array.from({ length: patternsMax }, () => 'web')
  t.ok(passes(fitting))
  t.notOk(passes([...fitting, 'web']))
  t.notOk(passes(['(']))
  t.notOk(passes(['db']))
  t.end()
})
