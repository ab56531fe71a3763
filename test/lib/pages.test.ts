import t from 'tap'
import { allOf } from '../../src/lib/pages.ts'

async function* numbers(read: { pages: number }): AsyncGenerator<readonly number[]> {
  for (const page of [[1, 2], [], [3], [4, 5]]) {
    read.pages += 1
    yield page
  }
}

void t.test('the items of all pages, and of no more pages than are needed', async (t) => {
  const read = { pages: 0 }
  t.same(await allOf(numbers(read)), [1, 2, 3, 4, 5])
  t.equal(read.pages, 4)
  read.pages = 0
  t.same(await allOf(numbers(read), 3), [1, 2, 3])
  t.equal(read.pages, 3)
  t.same(await allOf(numbers({ pages: 0 }), 1), [1], 'not the rest of a page')
})
