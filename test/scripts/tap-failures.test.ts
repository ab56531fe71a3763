/** A failed run names what failed, once each, however deep it lies. */
import t from 'tap'
import { failuresInTap } from '../../scripts/check/tap-failures.ts'

const cases: readonly (readonly [string, string, readonly string[]])[] = [
  ['nothing', 'ok 1 - a\n1..1', []],
  ['a plain failure', 'not ok 1 - a\n1..1', ['a']],
  [
    'the innermost of nested ones, with its line',
    [
      '# Subtest: a.test.ts',
      '    # Subtest: b',
      '        ok 1 - x',
      '        not ok 2 - y',
      '          ---',
      '          at:',
      '            lineNumber: 7',
      '          source: not ok 9 - not a result',
      '          ...',
      '        1..2',
      '    not ok 1 - b # time=3ms',
      '      ---',
      '      lineNumber: 1',
      '      ...',
      'not ok 1 - a.test.ts # time=9ms',
    ].join('\n'),
    ['a.test.ts > b > y (line 7)'],
  ],
  [
    'each of several',
    [
      '# Subtest: a.test.ts',
      '    # Subtest: b',
      '        not ok 1 - y',
      '    not ok 1 - b',
      '    # Subtest: c',
      '        ok 1 - z',
      '    not ok 2 - c',
      'not ok 1 - a.test.ts',
      'not ok 2 - d.test.ts # time=1ms',
    ].join('\n'),
    ['a.test.ts > b > y', 'a.test.ts > c', 'd.test.ts'],
  ],
  ['no unfinished one', 'not ok 1 - a # TODO', []],
]

for (const [name, text, failures] of cases) {
  t.test(`names ${name}`, async (t) => {
    t.same(failuresInTap(text), failures)
  })
}

t.test('a long list is cut', async (t) => {
  const text = Array.from({ length: 25 }, (_, at) => `not ok ${at + 1} - test ${at}`).join('\n')
  const failures = failuresInTap(text)
  t.equal(failures.length, 21)
  t.equal(failures.at(-1), 'and 5 more')
})
