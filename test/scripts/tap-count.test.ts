/** Counting assertions in TAP, nested in every way the runner nests them. */
import t from 'tap'
import { countTap } from '../../scripts/check/tap-count.ts'

const cases: readonly (readonly [string, string, number, number])[] = [
  ['nothing', '', 0, 0],
  ['plain results', 'ok 1 - a\nnot ok 2 - b\n1..2', 1, 1],
  ['an indented subtest', '# Subtest: a\n    ok 1 - x\n    ok 2 - y\n    1..2\nok 1 - a', 2, 0],
  [
    'subtests in subtests',
    '    # Subtest: b\n        not ok 1 - x\n          ---\n          at: ok 1\n          ...\n        1..1\n    not ok 1 - b\n    ok 2 - leaf\n    1..2\nnot ok 1 - a',
    1,
    1,
  ],
  ['a buffered subtest', 'ok 1 - a {\n    ok 1 - x\n    1..1\n}\nok 2 - b', 2, 0],
  ['an empty subtest', '    1..0\nok 1 - a # SKIP none', 0, 0],
  ['skipped and unfinished ones', 'ok 1 - a # SKIP no etcd\nnot ok 2 - b # TODO', 1, 0],
  ['a file that crashed', '    ok 1 - x\n    1..1\nnot ok 1 - a.test.ts', 1, 1],
]

for (const [name, text, passed, failed] of cases) {
  t.test(`counts ${name}`, async (t) => {
    t.same(countTap(text), { passed, failed })
  })
}
