import t from 'tap'
import { withoutOuterSlashes, withoutSlashesAtEnd } from '../../src/lib/slashes.ts'

void t.test('slashes at the ends of a path go', async (t) => {
  for (const [path, outer, end] of [
    ['', '', ''],
    ['/', '', ''],
    ['///', '', ''],
    ['a', 'a', 'a'],
    ['/a//b/', 'a//b', '/a//b'],
    ['//a/b///', 'a/b', '//a/b'],
  ] as const) {
    t.equal(withoutOuterSlashes(path), outer, path)
    t.equal(withoutSlashesAtEnd(path), end, path)
  }
})

void t.test(
  'a path of a million slashes with a letter at its end takes no longer than others',
  async (t) => {
    // By a pattern it takes minutes.
    const path = `a${'/'.repeat(1_000_000)}a`
    t.equal(withoutSlashesAtEnd(path), path)
    t.equal(withoutOuterSlashes(path), path)
  },
)
