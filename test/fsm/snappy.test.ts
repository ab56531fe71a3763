/** Snappy's raw format. */
import t from 'tap'
import { unsnappy } from '../../src/fsm/snappy.ts'

const text = (...bytes: (number | string)[]) =>
  unsnappy(
    Buffer.concat(
      bytes.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))),
    ),
  )?.toString() ?? null

t.test('literals and copies of all widths', async (t) => {
  t.equal(text(0), '')
  t.equal(text(3, 2 << 2, 'abc'), 'abc')
  t.equal(text(70, 60 << 2, 69, 'x'.repeat(70)), 'x'.repeat(70))
  t.equal(text(7, 2 << 2, 'abc', 1, 3), 'abcabca', 'a copy that reaches into itself')
  t.equal(text(6, 2 << 2, 'abc', (2 << 2) | 2, 3, 0), 'abcabc')
  t.equal(text(6, 2 << 2, 'abc', (2 << 2) | 3, 3, 0, 0, 0), 'abcabc')
})

t.test('what is of another format is null', async (t) => {
  for (const bytes of [
    [],
    [255],
    [255, 255, 255, 255, 255, 255, 127],
    [4, 2 << 2, 'abc'],
    [2, 2 << 2, 'abc'],
    [3, 2 << 2, 'ab'],
    [3, 61 << 2, 1],
    [7, 2 << 2, 'abc', 1, 4],
    [7, 2 << 2, 'abc', 1, 0],
    [6, 2 << 2, 'abc', 1, 3],
    [6, 2 << 2, 'abc', (2 << 2) | 2, 3],
  ]) {
    t.equal(text(...bytes), null, JSON.stringify(bytes))
  }
})
